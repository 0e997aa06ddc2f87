import { type Spread, spread } from './measure.ts'
import { growthOf } from './memory.ts'

/** What a figure is to reach. */
export interface Target {
  readonly below?: number
  readonly atMost?: number
  readonly atLeast?: number
  /** Targets that many figures share are told of in one line. */
  readonly group?: string
}

/** A figure beside the same of a peer, measured in turns with it. */
export interface Comparison {
  readonly peer: string
  readonly theirs: Spread
  /** `speed`: how many times as fast as the peer; `cost`: how many times what the peer takes. */
  readonly as: 'speed' | 'cost'
  readonly ratio: Spread
  /** As that of {@link Figure}. */
  readonly memory?: number | undefined
  readonly target?: Target | undefined
  /** What is not like for like. */
  readonly remark?: string | undefined
  /** Too unlike for the picture at the top. */
  readonly aside?: boolean | undefined
}

/** One thing measured. */
export interface Figure {
  readonly name: string
  readonly unit: string
  readonly ours: Spread
  /** By how many bytes the process grew at most in one turn. */
  readonly memory?: number | undefined
  readonly against: readonly Comparison[]
  readonly target?: Target | undefined
  readonly remark?: string | undefined
  /** Its line in the picture at the top of the report, when it is one that matters to everybody. */
  readonly headline?: string | undefined
}

/** A picture of figures over a scale: one line for each series. */
export interface Chart {
  readonly id: string
  readonly title: string
  readonly x: string
  readonly y: string
  readonly points: readonly ({ readonly series: string; readonly x: number } & Spread)[]
  /** Limits, drawn as lines across. */
  readonly limits?: readonly { readonly y: number; readonly label: string }[]
}

/** What a question sends to the run that asks it. */
export type Finding = { readonly figure: Figure } | { readonly chart: Chart } | { readonly about: string }

interface Against {
  readonly peer: string
  /** Round by round, as the own samples. */
  readonly samples: readonly number[]
  readonly as?: 'speed' | 'cost'
  readonly target?: Target | undefined
  readonly remark?: string | undefined
  readonly aside?: boolean | undefined
}

interface FigureOptions {
  readonly unit: string
  /** Whether less is better, as with times, or more, as with requests a second. Default: less. */
  readonly better?: 'less' | 'more'
  readonly against?: readonly Against[]
  readonly target?: Target | undefined
  readonly remark?: string | undefined
  readonly headline?: string | undefined
}

/** Prints a figure and hands it to the run. `samples` are what each round measured. */
export function figure(name: string, samples: readonly number[], options: FigureOptions): void {
  const { unit, better = 'less', against = [], target, remark, headline } = options
  const compare = ({ peer, samples: theirs, as = 'speed', ...more }: Against): Comparison => {
    const upsideDown = (better === 'less') === (as === 'speed')
    const pairs = samples.map((ours, round) => {
      const other = theirs[Math.min(round, theirs.length - 1)]!
      return upsideDown ? other / ours : ours / other
    })
    return { peer, theirs: spread(theirs), as, ratio: spread(pairs), memory: growthOf(theirs), ...more }
  }
  const found: Figure = {
    name,
    unit,
    ours: spread(samples),
    memory: growthOf(samples),
    against: against.map(compare),
    target,
    remark,
    headline,
  }
  for (const line of linesOf(found)) console.log(line)
  send({ figure: found })
}

/** Prints a single figure beside its target and hands it to the run. */
export function report(name: string, value: number, unit: string, target?: Target): void {
  figure(name.trim(), [value], { unit, target })
}

/** Hands a picture to the run. */
export function chart(chart: Chart): void {
  send({ chart })
}

/** Tells the reader of the report what the question is and how it is asked. */
export function about(text: string): void {
  console.log(`${text}\n`)
  send({ about: text })
}

/** Whether a figure reaches its target. */
export function isMet(value: number, { below, atMost, atLeast }: Target): boolean {
  return (
    (below === undefined || value < below) &&
    (atMost === undefined || value <= atMost) &&
    (atLeast === undefined || value >= atLeast)
  )
}

export function targetText({ below, atMost, atLeast }: Target): string {
  if (below !== undefined) return `< ${round(below)}`
  return atMost !== undefined ? `≤ ${round(atMost)}` : `≥ ${round(atLeast!)}`
}

/** Three significant digits, and whole numbers from a hundred on. */
export function round(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}

/** Memory as people write it. */
export function megabytes(bytes: number): string {
  return `${bytes < 1e5 ? '0' : round(bytes / 1e6)} MB`
}

function linesOf({ name, unit, ours, memory, against, target }: Figure): string[] {
  const line = (left: string, value: string, note: string, aim?: Target, measured?: number) => {
    const verdict = aim ? `${targetText(aim).padEnd(8)} ${isMet(measured!, aim) ? 'met' : 'MISSED'}` : ''
    return `${left.padEnd(58)} ${value.padStart(10)} ${note.padEnd(30)} ${verdict}`.trimEnd()
  }
  return [
    line(name, round(ours.median), `${unit}${beside(memory)}`, target, ours.median),
    ...against.map(({ peer, theirs, as, ratio, memory, target }) =>
      line(
        `  ${as === 'speed' ? 'speed' : 'cost'} against ${peer}`,
        `${round(ratio.median)} ×`,
        `(${round(ratio.low)} – ${round(ratio.high)}; ${round(theirs.median)} ${unit}${beside(memory)})`,
        target,
        ratio.median,
      ),
    ),
  ]
}

/** The memory of a contender, behind what it took. */
function beside(bytes: number | undefined): string {
  return bytes === undefined ? '' : `, ${megabytes(bytes)}`
}

function send(finding: Finding): void {
  process.send?.(finding)
}
