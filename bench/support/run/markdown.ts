import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Comparison, type Figure, isMet, megabytes, round, type Target, targetText } from '../figures.ts'
import type { Spread } from '../measure.ts'
import { type Answer, benchFolder, type Report } from './report.ts'
import { type Verdict, verdicts } from './targets.ts'

/** Known reasons for what falls short, by hand: the beginning of a target's name, and the reason. */
const notes: Record<string, string> = JSON.parse(readFileSync(join(benchFolder, 'notes.json'), 'utf8'))

const scales = {
  quick: ', small sizes and few rounds, only to see that it runs',
  short: ', few rounds',
  usual: '',
  full: ', with the big sizes',
}

/** The whole report, with its pictures beside it in `report/`. */
export function toMarkdown(report: Report): string {
  const versions = Object.entries(report.versions).map(([name, version]) => `${name} ${version}`)
  return `${[
    '# How fast it is',
    `Made by \`npm run bench\`${shortly(report)} on ${report.date.slice(0, 16).replace('T', ' ')} UTC on ${report.machine}. Versions: ${versions.join(', ')}.`,
    reading,
    '![Speed against the peers](report/headline.svg)',
    '## Targets',
    targetTable(verdicts(report)),
    ...report.answers.map(section),
  ].join('\n\n')}\n`
}

/** Says when questions were asked in few rounds, and how many. */
function shortly({ answers }: Report): string {
  const short = answers.filter(({ scale }) => scale === 'short').length
  if (short === 0) return ''
  return short === answers.length
    ? ' in few rounds'
    : ` (${short} of ${answers.length} questions in few rounds)`
}

const reading = `Every figure is measured in turns with its peers, in one run: the median of the rounds, and in brackets the quartiles. *Speed* is how many times as fast as the peer we are (2 × is twice as fast, 0.5 × half as fast); *cost* is how many times what the other takes. Absolute times belong to this machine; ratios travel better. What is not like for like is said beside the figure. *Memory* is by how much a process grew at most in one turn, ours and in brackets the peer's; that of a question is what all its processes had at most, peers included.`

function targetTable(all: readonly Verdict[]): string {
  const met = all.filter((verdict) => verdict.met).length
  const rows = all.map(({ question, what, target, measured, unit, met, of }) => [
    `[${question}](#${question})`,
    plain(what),
    `${target} ${unit}`,
    withSpread(measured, unit),
    of ? `${met ? 'met' : '**missed**'} (${of.met} of ${of.all})` : met ? 'met' : '**missed**',
    met ? '' : plain(noteOf(question, what)),
  ])
  return `${met} of ${all.length} are met.\n\n${table(['Question', 'What', 'Target', 'Measured', '', 'Why not'], rows)}`
}

function noteOf(question: string, what: string): string {
  const key = Object.keys(notes).find((key) => `${question}: ${what}`.startsWith(key))
  return key === undefined ? '' : notes[key]!
}

function section({
  question,
  title,
  about,
  date,
  scale,
  seconds,
  failed,
  figures,
  charts,
  memory,
}: Answer): string {
  const taken = memory === undefined ? '' : `, ${megabytes(memory)}`
  return [
    `## ${question}`,
    `**${title}** (${date.slice(0, 16).replace('T', ' ')} UTC, ${seconds} s${taken}${scales[scale]})`,
    about.replace(/\s+/g, ' '),
    failed ? `**This question failed.** ${failed}` : '',
    ...charts.map(({ id, title }) => `![${title}](report/${id}.svg)`),
    figures.length > 0 ? figureTable(figures) : '',
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

function figureTable(figures: readonly Figure[]): string {
  // Answers of earlier runs know of no memory.
  const isWatched = figures.some(({ memory }) => memory !== undefined)
  const rows = figures.flatMap(({ name, unit, ours, memory, target, remark, against }) => {
    const own = [plain(name), withSpread(ours, unit), ...(isWatched ? [memoryText(memory)] : [])]
    const others = own.map(() => '')
    const compared = against.map((one) => [
      ratioText(one),
      `${plain(one.peer)}: ${round(one.theirs.median)} ${unit}${one.memory === undefined ? '' : ` (${megabytes(one.memory)})`}`,
      verdict(one.ratio.median, one.target),
      plain(one.remark ?? ''),
    ])
    const alone = ['', '', verdict(ours.median, target), plain(remark ?? '')]
    if (target || compared.length === 0 || remark)
      return [[...own, ...alone], ...compared.map((cells) => [...others, ...cells])]
    return compared.map((cells, i) => [...(i === 0 ? own : others), ...cells])
  })
  const columns = ['What', 'Ours', ...(isWatched ? ['Memory'] : [])]
  return table([...columns, 'Ratio', 'Against', 'Target', 'Not like for like'], rows)
}

function memoryText(bytes: number | undefined): string {
  return bytes === undefined ? '' : megabytes(bytes)
}

function ratioText({ as, ratio }: Comparison): string {
  return `${as} ${withSpread(ratio, '×')}`
}

function verdict(value: number, target: Target | undefined): string {
  return target ? `${targetText(target)}: ${isMet(value, target) ? 'met' : '**missed**'}` : ''
}

function withSpread({ median, low, high }: Spread, unit: string): string {
  const middle = `${round(median)}${unit ? ` ${unit}` : ''}`
  return low === high ? middle : `${middle} (${round(low)} – ${round(high)})`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function plain(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('*', '\\*')
}
