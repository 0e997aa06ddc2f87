import { round } from '../figures.ts'
import { headlines } from './headlines.ts'
import type { Report } from './report.ts'
import { verdicts } from './targets.ts'

/** The report in short, as the README of the project has it. `npm run derive` writes it there. */
export function shortForm(report: Report): string {
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
    `Each line was measured in turns with its peers${report.answers.some(({ scale }) => scale === 'short') ? ' in few rounds' : ''}, ${daysOf(report)}, on ${report.machine.replace(/, Linux.*/, '')}; 2 × is twice as fast, 0.5 × half as fast. ${all.filter(({ met }) => met).length} of ${all.length} targets are met; [the report](bench/report.md) has every figure, what is not like for like, and why the others are missed.`,
  ].join('\n')
}

/** On which days the answers were found: questions may be asked again one by one. */
function daysOf({ answers }: Report): string {
  const days = answers.map(({ date }) => date.slice(0, 10)).sort()
  const [first, last] = [days[0]!, days.at(-1)!]
  return first === last ? `on ${first}` : `from ${first} to ${last}`
}
