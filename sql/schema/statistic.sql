-- statistic: every published row of every release, copied for queries; the files under published/ are the original.
-- Grain    one row per (release_id, slot_start, h3_cell)
-- Units    those of the dataset's [value]
-- Privacy  public: noise is added, and the ledger has charged it
create table if not exists statistic (
    h3_cell varchar not null,
    slot_start timestamptz not null,
    slot_minutes bigint not null,
    n_records bigint not null,
    n_users bigint not null,
    mean double not null,
    mean_noise_scale double,
    mean_error_bound double,
    mean_sd double,
    mean_ci95_low double not null,
    mean_ci95_high double not null,
    support varchar,
    mean_area varchar,
    mean_day_share double,
    typical_mean double,
    unusual boolean,
    mean_clip_low double,
    mean_clip_high double,
    variance double,
    variance_noise_scale double,
    variance_error_bound double,
    variance_ci95_low double,
    variance_ci95_high double,
    epsilon double not null,
    release_id varchar not null
)
