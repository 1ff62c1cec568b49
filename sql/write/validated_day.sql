-- validated_day: stores how the valid records of one local day are placed.
-- Grain    one row
-- Params   $date, $day_start in UTC, $slot_minutes, $h3_resolution, $lower and $tick in the value's unit, $n_ticks,
--          $factor, $missing in the source's unit
-- Privacy  public
insert or replace into validated_day by name
select
    $date as local_date,
    $day_start as day_start,
    $slot_minutes as slot_minutes,
    $h3_resolution as h3_resolution,
    $lower as lower,
    $tick as tick,
    $n_ticks as n_ticks,
    $factor as factor,
    $missing as missing
