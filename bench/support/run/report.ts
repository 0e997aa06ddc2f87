import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, release, totalmem, type } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Chart, Figure } from '../figures.ts'
import type { Scale } from '../scale.ts'

export const benchFolder = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** What one question found. */
export interface Answer {
  readonly question: string
  /** The question as a sentence. */
  readonly title: string
  readonly about: string
  readonly date: string
  readonly scale: Scale
  readonly seconds: number
  /** The most bytes that its processes had together, peers included, where the system tells. */
  readonly memory?: number | undefined
  /** Why it ended early; what it found before is there. */
  readonly failed?: string | undefined
  readonly figures: readonly Figure[]
  readonly charts: readonly Chart[]
}

/** A run, whole, or as far as it came. */
export interface Report {
  /** When the latest run began. */
  readonly date: string
  readonly machine: string
  readonly versions: Readonly<Record<string, string>>
  readonly answers: readonly Answer[]
}

export function emptyReport(): Report {
  const gibibytes = Math.round(totalmem() / 2 ** 30)
  const [cpu] = cpus()
  return {
    date: new Date().toISOString(),
    machine: `${cpus().length} × ${cpu?.model.trim() || 'unknown processor'}, ${gibibytes} GiB, ${type()} ${release()}`,
    versions: versions(),
    answers: [],
  }
}

/** Versions of ours and of all that is measured beside it. */
function versions(): Record<string, string> {
  const own = JSON.parse(readFileSync(join(benchFolder, '../package.json'), 'utf8'))
  const found: Record<string, string> = { [own.name]: own.version, node: process.versions.node }
  for (const peer of ['lmdb', '@lancedb/lancedb', '@duckdb/node-api', 'better-sqlite3']) {
    const version = versionOf(peer)
    if (version) found[peer] = version
  }
  return found
}

function versionOf(name: string): string | undefined {
  const require = createRequire(join(benchFolder, 'run.ts'))
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      return JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8')).version
    } catch {
      // Not in this folder.
    }
  }
  return undefined
}

/** Whether two reports are of one machine and of the same versions, so that answers of both may stand together. */
export function alike(a: Report, b: Report): boolean {
  return a.machine === b.machine && JSON.stringify(a.versions) === JSON.stringify(b.versions)
}

/** An earlier report with the new answers in place of its own, if both are alike. */
export function merged(earlier: Report | undefined, now: Report, order: readonly string[]): Report {
  const kept = earlier && alike(earlier, now) ? earlier.answers : []
  const answers = new Map(kept.map((answer) => [answer.question, answer]))
  for (const answer of now.answers) answers.set(answer.question, answer)
  return {
    ...now,
    answers: [...answers.values()].sort((a, b) => order.indexOf(a.question) - order.indexOf(b.question)),
  }
}

/** Whether the run that a report is of has answered a question at this scale. */
export function isAnswered({ date, answers }: Report, question: string, scale: Scale): boolean {
  const answer = answers.find((answer) => answer.question === question)
  return answer !== undefined && !answer.failed && answer.scale === scale && answer.date >= date
}

export function readReport(path: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Report
  } catch {
    return undefined
  }
}
