-- judged_report: the lines of a round's files, with what each says, and the reason if it is not used.
-- Of two reports of a device the first counts, by file name and line. A device of the other half is refused, and so is
-- a report that no honest device can send. Reports of the period's other round may stand in the same files.
-- Grain    one row per line that is neither empty nor of the period's other round
-- Reads    report_line: the lines of the files; asked_area: the areas, with the domain of an estimate in round 2
-- Params   $collection, $period, $round, $key: of the round, the key in hexadecimal; $n_bins: digits of a ballot
-- Units    estimate is in ticks
-- Privacy  randomised by the device before it was sent; kept private, because it names the device
create or replace temp table judged_report as
with parsed as (
    select
        file_name,
        line_number,
        json_valid(line) and json_type(if(json_valid(line), line, 'null')) = 'OBJECT' as is_object,
        if(is_object, line, '{}') as object
    from report_line
    where trim(line, ' ' || chr(9) || chr(10) || chr(13)) <> ''
),

said as (
    select
        file_name,
        line_number,
        is_object,
        object ->> '$.collection' as collection,
        object ->> '$.period' as period,
        object ->> '$.round' as round,
        object ->> '$.area' as area,
        if(json_type(object, '$.device') = 'VARCHAR', object ->> '$.device', null) as device,
        if(json_type(object, '$.ballot') = 'VARCHAR', object ->> '$.ballot', null) as ballot,
        if(
            json_type(object, '$.estimate') in ('BIGINT', 'UBIGINT'),
            try_cast(object ->> '$.estimate' as bigint),
            null
        ) as estimate
    from parsed
),

judged as (
    select
        said.*,
        case
            when not is_object or device is null or length(device) not between 1 and 64 then 'malformed'
            when ($round = 1 and ballot is null) or ($round = 2 and estimate is null) then 'malformed'
            when collection is distinct from $collection then 'other_collection'
            when period is distinct from $period or round is distinct from $round::varchar then 'other_round'
            when asked_area.name is null then 'unknown_area'
            when (instr('13579bdf', substr(sha256($key || ':' || device), 2, 1)) > 0) <> ($round = 2) then 'other_half'
            when $round = 1 and not regexp_full_match(ballot, '[01]*') then 'outside_domain'
            when $round = 1 and length(ballot) <> $n_bins then 'outside_domain'
            when $round = 2 and estimate not between least and largest then 'outside_domain'
        end as problem
    from said
    left join asked_area on said.area = asked_area.name
    where coalesce((collection, period, round) <> ($collection, $period, (3 - $round)::varchar), true)
)

select
    file_name,
    line_number,
    area,
    device,
    if($round = 1, ballot, null) as ballot,
    if($round = 2, estimate, null) as estimate,
    case
        when problem is not null then problem
        when row_number() over same_device > 1 then 'repeated'
    end as reason
from judged
window same_device as (partition by device, problem is null order by file_name, line_number)
