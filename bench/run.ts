import { setMaxListeners } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ask } from './support/run/ask.ts'
import { compareReports } from './support/run/compare.ts'
import { installPeers } from './support/run/install.ts'
import { toMarkdown } from './support/run/markdown.ts'
import { fail, readOptions } from './support/run/options.ts'
import { drawAll } from './support/run/plots.ts'
import { answeredLine, questionsLeft } from './support/run/progress.ts'
import { questions } from './support/run/questions.ts'
import { alike, benchFolder, emptyReport, merged, type Report, readReport } from './support/run/report.ts'
import { verdicts } from './support/run/targets.ts'

/*
 * `npm run bench` asks every question of this folder, `npm run bench -- NAME …` some of them, and writes the
 * report. Each question runs in a process of its own; one that fails is told of, and the run goes on. Each answer is
 * written when it is found, so a run that is cut off can be resumed.
 */

const { asked, scale, out, json, compare, run, resume } = readOptions(process.argv.slice(2))
// Printed JSON has standard output to itself.
const output = json === true ? process.stderr : process.stdout
const earlier = compare === undefined ? undefined : readReport(compare)
if (compare !== undefined && !earlier) fail(`${compare} is not a report of a run.`)

installPeers()
const saved = readReport(join(out ?? benchFolder, 'report.json'))
if (!run && !saved) fail('There is no report yet. Run without --no-run first.')
const stopping = new AbortController()
const report = run ? await runAll() : saved!
if (out !== undefined) await write(out, report)
if (stopping.signal.aborted) {
  output.write('\nStopped. Answers that were found are kept; --resume asks the other questions.\n')
  process.exit(130)
}
if (json === true) process.stdout.write(`${JSON.stringify(report, null, 1)}\n`)
else if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, null, 1)}\n`)
if (earlier) for (const line of compareReports(earlier, report)) output.write(`${line}\n`)
summarize(report)

async function runAll(): Promise<Report> {
  const scratch = mkdtempSync(join(tmpdir(), 'tabularium-bench-'))
  setMaxListeners(0, stopping.signal)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort())
  const begun = begin()
  let report = merged(out === undefined ? undefined : saved, begun, questions)
  const left = resume ? questionsLeft(report, asked, scale) : asked
  if (left.length < asked.length)
    output.write(`${asked.length - left.length} questions are answered already.\n`)
  // A run that is cut off before its first answer is the latest, too.
  if (out !== undefined && report.answers.length > 0) writeTexts(out, report)
  const start = performance.now()
  try {
    for (const [i, question] of left.entries()) {
      output.write(`\n# ${question} (${i + 1} of ${left.length})\n\n`)
      const answer = await ask(question, { scale, scratch, output, signal: stopping.signal })
      if (stopping.signal.aborted) break
      output.write(`\n${answeredLine(answer, left.slice(i + 1), { report, start })}\n`)
      report = merged(report, { ...begun, answers: [answer] }, questions)
      if (out !== undefined) writeTexts(out, report)
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true, maxRetries: 3 })
  }
  return report
}

/** A new run, or one that goes on. */
function begin(): Report {
  const begun = emptyReport()
  if (out === undefined || !saved) return begun
  if (alike(saved, begun)) return resume ? { ...begun, date: saved.date } : begun
  output.write('The report that is there is of another machine or other versions. This run replaces it;\n')
  output.write('--out FOLDER keeps it.\n')
  return begun
}

/** Everything but the pictures, which take a while. */
function writeTexts(folder: string, report: Report): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'report.json'), `${JSON.stringify(report)}\n`)
  writeFileSync(join(folder, 'report.md'), toMarkdown(report))
}

async function write(folder: string, report: Report): Promise<void> {
  writeTexts(folder, report)
  const drawn = await drawAll(report)
  const pictures = join(folder, 'report')
  mkdirSync(pictures, { recursive: true })
  for (const file of readdirSync(pictures)) if (file.endsWith('.svg')) rmSync(join(pictures, file))
  for (const [name, svg] of drawn) writeFileSync(join(pictures, name), svg)
  output.write(`\nThe report is ${join(folder, 'report.md')}\n`)
  if (folder === benchFolder) output.write('npm run derive writes its short form into the README.\n')
}

function summarize(report: Report): void {
  const all = verdicts(report)
  const missed = all.filter(({ met }) => !met)
  output.write(`\n${all.length - missed.length} of ${all.length} targets are met.\n`)
  for (const { question, what, target, measured, unit } of missed) {
    output.write(
      `  missed: ${question}: ${what}: ${Number(measured.median.toPrecision(3))} ${unit}, not ${target}\n`,
    )
  }
  const failed = report.answers.filter(({ failed }) => failed)
  for (const { question, failed: why } of failed) output.write(`  failed: ${question}: ${why}\n`)
  if (failed.length > 0) process.exitCode = 1
}
