import { shownCount } from './text.ts'

/** The state of the upkeep that `/metrics` tells, in words; undefined where it tells none. */
export function upkeepText(metrics: string): string | undefined {
  const isUp = sumOf(metrics, 'tabularium_store_up')
  if (isUp === undefined) return undefined
  if (isUp === 0) return 'the store does not answer'
  const records = sumOf(metrics, 'tabularium_upkeep_backlog_records') ?? 0
  const removals = sumOf(metrics, 'tabularium_content_removals_pending') ?? 0
  const waiting = [
    records > 0 && `${shownCount(records)} ${records === 1 ? 'record' : 'records'} to clear`,
    removals > 0 && `${shownCount(removals)} dropped ${removals === 1 ? 'table' : 'tables'} to remove`,
  ].filter((text) => text !== false)
  return waiting.length === 0 ? 'up to date' : waiting.join(', ')
}

/** The sum of a metric's samples, in the text format of Prometheus. */
function sumOf(metrics: string, name: string): number | undefined {
  const samples = metrics.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))
  const values = Array.from(samples, ([, value]) => Number(value))
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0)
}
