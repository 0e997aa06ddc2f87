/** Functions of SQL over several rows, as engines name them: aggregates, and functions of windows. */
export const aggregates: ReadonlySet<string> = new Set(
  [
    'any_value approx_count_distinct approx_distinct approx_median approx_percentile_cont approx_quantile arg_max arg_min',
    'array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count count_if count_star covar covar_pop covar_samp',
    'cume_dist dense_rank every first first_value group_concat histogram kurtosis lag last last_value lead list listagg',
    'max max_by mean median min min_by mode nth_value ntile percent_rank percentile_cont product quantile quantile_cont',
    'quantile_disc rank regr_slope row_number skewness stddev stddev_pop stddev_samp string_agg sum total var var_pop',
    'var_samp var_sample variance',
  ].flatMap((line) => line.split(' ')),
)

/** Where aggregates are to be had. */
export const insteadOfAggregates =
  'Rows are looked at one by one here. countTableRows counts them; docs/analyse.md shows sums, groups and joins by DuckDB, Polars and pandas.'
