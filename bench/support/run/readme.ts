import { readFileSync, writeFileSync } from 'node:fs'
import { round } from '../figures.ts'
import { headlines } from './headlines.ts'
import type { Report } from './report.ts'
import { verdicts } from './targets.ts'

const markers = /(<!-- bench -->\n)[\s\S]*?(\n<!-- \/bench -->)/

/** Writes the short form between the markers of a README. */
export function writeReadme(path: string, report: Report): void {
  const text = readFileSync(path, 'utf8')
  if (!markers.test(text))
    throw new Error(`${path} has no <!-- bench --> … <!-- /bench --> to write between.`)
  writeFileSync(
    path,
    text.replace(markers, (_, begin, end) => `${begin}${shortForm(report)}${end}`),
  )
}

function shortForm(report: Report): string {
  const all = verdicts(report)
  const rows = headlines(report).map(({ label, figure, against }) => {
    const peers = against.map(({ family, ratio }) => `${round(ratio.median)} × ${family}`)
    return `| ${label} | ${round(figure.ours.median)} ${figure.unit} | ${peers.join(', ')} |`
  })
  return [
    '![Speed against the peers](bench/report/headline.svg)',
    '',
    '| | Takes | Speed against |',
    '|---|---|---|',
    ...rows,
    '',
    `Measured in turns in one run on ${report.date.slice(0, 10)}, ${report.machine.replace(/, Linux.*/, '')}; 2 × is twice as fast, 0.5 × half as fast. ${all.filter(({ met }) => met).length} of ${all.length} targets are met; [the report](bench/report.md) has every figure, what is not like for like, and why the others are missed.`,
  ].join('\n')
}
