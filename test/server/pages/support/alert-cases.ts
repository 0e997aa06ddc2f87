/** A moment in which an alert fires, as Prometheus sees it: a sample of each series every minute. */
export interface AlertCase {
  readonly alert: string
  readonly firing: Readonly<Record<string, string>>
  /** The same when all is well. */
  readonly quiet: Readonly<Record<string, string>>
}

const at = 'job="tabularium",instance="a"'
const minutes = 180

/** Values of so many minutes in the notation of promtool: from a value on, with a step each minute. */
const line = (from: number, step = 0) => `${from}${step < 0 ? '-' : '+'}${Math.abs(step)}x${minutes}`

/** When each alert fires, and when it does not. */
export const alertCases: readonly AlertCase[] = [
  {
    alert: 'TabulariumServerDown',
    firing: { [`up{${at}}`]: line(0) },
    quiet: { [`up{${at}}`]: line(1) },
  },
  {
    alert: 'TabulariumStoreAway',
    firing: { [`tabularium_store_up{${at}}`]: line(0) },
    quiet: { [`tabularium_store_up{${at}}`]: line(1) },
  },
  {
    alert: 'TabulariumServerErrors',
    firing: {
      [`tabularium_requests_total{operation="queryTable",status="200",${at}}`]: line(0, 900),
      [`tabularium_requests_total{operation="queryTable",status="500",${at}}`]: line(0, 50),
    },
    quiet: {
      [`tabularium_requests_total{operation="queryTable",status="200",${at}}`]: line(0, 900),
      [`tabularium_requests_total{operation="queryTable",status="404",${at}}`]: line(0, 500),
      [`tabularium_requests_total{operation="queryTable",status="500",${at}}`]: line(0, 1),
    },
  },
  {
    alert: 'TabulariumLostRaces',
    firing: {
      [`tabularium_commits_total{${at}}`]: line(0, 600),
      [`tabularium_lost_races_total{kind="rows",${at}}`]: line(0, 600),
    },
    quiet: {
      [`tabularium_commits_total{${at}}`]: line(0, 600),
      [`tabularium_lost_races_total{kind="rows",${at}}`]: line(0, 60),
      [`tabularium_lost_races_total{kind="commits",${at}}`]: line(0, 6_000),
    },
  },
  {
    alert: 'TabulariumOldLease',
    firing: { [`tabularium_oldest_lease_age_seconds{${at}}`]: line(0, 60) },
    quiet: { [`tabularium_oldest_lease_age_seconds{${at}}`]: line(600) },
  },
  {
    alert: 'TabulariumBacklogGrows',
    firing: { [`tabularium_upkeep_backlog_records{kind="changes",${at}}`]: line(30_000, 100) },
    quiet: {
      [`tabularium_upkeep_backlog_records{kind="changes",${at}}`]: line(90_000, -100),
      [`tabularium_upkeep_backlog_records{kind="transactions",${at}}`]: line(0, 10),
    },
  },
  {
    alert: 'TabulariumConnectionsExhausted',
    firing: {
      [`tabularium_database_connections_pending{${at}}`]: line(3),
      [`tabularium_database_connections{state="used",${at}}`]: line(4),
      [`tabularium_database_connections{state="idle",${at}}`]: line(0),
      [`tabularium_database_connections_max{${at}}`]: line(4),
    },
    quiet: {
      [`tabularium_database_connections_pending{${at}}`]: line(3),
      [`tabularium_database_connections{state="used",${at}}`]: line(2),
      [`tabularium_database_connections{state="idle",${at}}`]: line(2),
      [`tabularium_database_connections_max{${at}}`]: line(4),
    },
  },
  {
    alert: 'TabulariumDiskLow',
    // A hundred megabytes a minute.
    firing: { [`tabularium_disk_free_bytes{${at}}`]: line(60e9, -100e6) },
    quiet: { [`tabularium_disk_free_bytes{${at}}`]: line(60e9) },
  },
  {
    alert: 'TabulariumEventLoopHeld',
    firing: { [`nodejs_eventloop_lag_p99_seconds{${at}}`]: line(2) },
    quiet: { [`nodejs_eventloop_lag_p99_seconds{${at}}`]: line(0.02) },
  },
]

/** The cases as promtool reads them. Beyond the rules, it needs nothing else. */
export function casesForPromtool(rules: string): string {
  const tests = alertCases.flatMap(({ alert, firing, quiet }) =>
    [firing, quiet].map((series) => ({
      interval: '1m',
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      promql_expr_test: [
        {
          expr: `count by (alertname) (ALERTS{alertname="${alert}",alertstate="firing"})`,
          eval_time: `${minutes}m`,
          ...(series === firing && { exp_samples: [{ labels: `{alertname="${alert}"}`, value: 1 }] }),
        },
      ],
    })),
  )
  // Every reader of YAML reads JSON, too.
  return JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests })
}
