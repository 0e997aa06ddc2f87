import { round } from '../figures.ts'
import type { Spread } from '../measure.ts'
import type { Report } from './report.ts'

/**
 * Two reports side by side, as lines to print. Ratios against peers are compared, which hold across machines;
 * a figure without peers by itself. Marked is what changed beyond the quartiles of both, by 5 % at least.
 */
export function compareReports(earlier: Report, now: Report): string[] {
  const before = new Map(measuresOf(earlier))
  const rows = measuresOf(now).flatMap(([name, spread]) => {
    const old = before.get(name)
    return old ? [{ name, old, spread, change: spread.median / old.median, mark: isBeyond(old, spread) }] : []
  })
  const marked = rows.filter(({ mark }) => mark)
  const width = Math.min(100, Math.max(20, ...rows.map(({ name }) => name.length)))
  return [
    ...(earlier.machine === now.machine ? [] : [`Another machine: ${earlier.machine}.`]),
    `${'what'.padEnd(width)} ${'before'.padStart(10)} ${'now'.padStart(10)} ${'now / before'.padStart(13)}`,
    ...rows.map(
      ({ name, old, spread, change, mark }) =>
        `${name.padEnd(width)} ${round(old.median).padStart(10)} ${round(spread.median).padStart(10)} ${change.toFixed(2).padStart(13)}${mark ? '  changed' : ''}`,
    ),
    `${marked.length} of ${rows.length} changed beyond the spread.`,
  ]
}

function measuresOf({ answers }: Report): [string, Spread][] {
  return answers.flatMap(({ question, figures }) =>
    figures.flatMap(({ name, ours, against, unit }): [string, Spread][] =>
      against.length === 0
        ? [[`${question}: ${name}${unit && `, ${unit}`}`, ours]]
        : against.map(({ peer, ratio, as }) => [`${question}: ${name}, ${as} against ${peer}`, ratio]),
    ),
  )
}

function isBeyond(a: Spread, b: Spread): boolean {
  return (a.high < b.low || b.high < a.low) && Math.abs(b.median / a.median - 1) >= 0.05
}
