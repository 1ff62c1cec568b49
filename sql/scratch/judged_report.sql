-- judged_report: the lines of a round's files, with what each says, and the reason if it is not used.
-- Of two reports of a device the first counts, by file name and line. A device of the other half is refused, and so is
-- a report that no honest device can send, or whose device has a name that no device takes: of 1 to 64 characters,
-- printable as Python says, so without controls, marks of direction, line ends and spaces but the plain one.
-- Reports of the period's other round may stand in the same files.
-- Grain    one row per line that is neither empty nor of the period's other round
-- Reads    report_line: the lines of the files; asked_area: the areas, with the domain of an estimate in round 2
-- Params   $collection, $period, $round, $key: of the round, the key in hexadecimal; $n_bins: digits of a ballot;
--          $longest: bytes of the longest line; $members: of a report, each as JSON
-- Units    estimate is in ticks
-- Privacy  randomised by the device before it was sent; kept private, because it names the device
create or replace temp table judged_report as
with parsed as materialized (
    select
        file_name,
        line_number,
        octet_length(line) > $longest as is_long,
        if(is_long, null, try(decode(line))) as content,
        content is null and not is_long as is_not_utf8,
        try(json_transform(content, $members)) as said,
        if(said is null, trim(content, ' ' || chr(9) || chr(10) || chr(13)) = '', false) as is_blank
    from report_line
),

said as (
    select
        file_name,
        line_number,
        is_long,
        is_blank,
        is_not_utf8,
        said.collection is distinct from to_json($collection)::json as is_of_another,
        said.period is distinct from to_json($period)::json as is_of_other_period,
        said.round is distinct from to_json($round::integer)::json as is_of_other_round,
        not is_of_another and not is_of_other_period and said.round = to_json(3 - $round::integer)::json as is_aside,
        if(starts_with(said.area, '"'), said.area ->> '$', null) as area,
        if(starts_with(said.device, '"'), said.device ->> '$', null) as device,
        if(starts_with(said.ballot, '"'), said.ballot ->> '$', null) as ballot,
        if(regexp_full_match(said.estimate, '-?[0-9]+'), try_cast(said.estimate as bigint), null) as estimate
    from parsed
),

judged as (
    select
        said.*,
        case
            when is_long then 'too_long'
            when is_not_utf8 then 'not_utf8'
            when device is null or length(device) not between 1 and 64 then 'malformed'
            when regexp_matches(device, '[\p{C}\p{Zl}\p{Zp}]|[^\P{Zs} ]') then 'malformed'
            when ($round = 1 and ballot is null) or ($round = 2 and estimate is null) then 'malformed'
            when is_of_another then 'other_collection'
            when is_of_other_period or is_of_other_round then 'other_round'
            when asked_area.name is null then 'unknown_area'
            when (instr('13579bdf', substr(sha256($key || ':' || device), 2, 1)) > 0) <> ($round = 2) then 'other_half'
            when $round = 1 and not regexp_full_match(ballot, '[01]*') then 'outside_domain'
            when $round = 1 and length(ballot) <> $n_bins then 'outside_domain'
            when $round = 2 and estimate not between least and largest then 'outside_domain'
        end as problem
    from said
    left join asked_area on said.area = asked_area.name
    where not coalesce(is_aside, false) and not coalesce(is_blank, false)
),

of_several as (
    select device
    from judged
    where problem is null
    group by device
    having count(*) > 1
),

first_of_several as (
    select device, min((file_name, line_number)) as place
    from judged
    where problem is null and device in (from of_several)
    group by device
)

select
    file_name,
    line_number,
    area,
    device,
    if($round = 1, ballot, null) as ballot,
    if($round = 2, estimate, null) as estimate,
    coalesce(problem, if((file_name, line_number) <> place, 'repeated', null)) as reason
from judged
left join first_of_several using (device)
