-- place_of(): a place as it is written, as place_cell, latitude and longitude; nulls if it cannot be read.
-- A cell has its middle, and only a cell has place_cell. A cell and a point are the latitude and the longitude alike.
-- Grain    a function of latitude and longitude as they are written, and of their form: kind is 'h3', 'geometry' or
--          'degrees', decimal the decimal mark of texts, per_degree how many of their units a degree has; is_round says
--          whether longitudes go to 360
-- Units    degrees
-- Privacy  SENSITIVE: a place may be private inside its hexagon
create or replace temp macro place_of(latitude, longitude, form) as
case form.kind
    when 'h3' then h3_place(cell_index(latitude))
    when 'geometry' then point_place(try_cast(latitude::varchar as blob))
    else {
        'place_cell': null::ubigint,
        'latitude': number_of(latitude, form.decimal) / form.per_degree,
        'longitude': number_of(longitude, form.decimal) / form.per_degree
            - case
                when form.is_round
                    and number_of(longitude, form.decimal) / form.per_degree > 180
                    and number_of(longitude, form.decimal) / form.per_degree <= 360
                    then 360
                else 0
            end
    }
end
