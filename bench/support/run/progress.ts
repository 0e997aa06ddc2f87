import { megabytes } from '../figures.ts'
import type { Scale } from '../scale.ts'
import { type Answer, isAnswered, type Report } from './report.ts'
import { verdicts } from './targets.ts'

/** How long a question takes that nobody has asked yet, in seconds. */
const unknownSeconds = 45

/** The questions that the latest run has not answered. */
export function questionsLeft(report: Report, asked: readonly string[], scale: Scale): readonly string[] {
  return asked.filter((question) => !isAnswered(report, question, scale))
}

/** One line about an answer: how it went, and how long the others will take, by their earlier answers. */
export function answeredLine(
  answer: Answer,
  left: readonly string[],
  { report, start }: { readonly report: Report; readonly start: number },
): string {
  const { question, seconds, failed, memory } = answer
  const judged = verdicts({ ...report, answers: [answer] })
  const told = [
    failed ? `failed: ${failed}` : `answered in ${seconds} s`,
    ...(judged.length > 0
      ? [`${judged.filter(({ met }) => met).length} of ${judged.length} targets met`]
      : []),
    ...(memory === undefined ? [] : [`${megabytes(memory)} at most`]),
  ]
  const secondsOf = new Map(report.answers.map(({ question, seconds }) => [question, seconds]))
  const more = left.reduce((sum, name) => sum + (secondsOf.get(name) ?? unknownSeconds), 0)
  const run = `${minutes((performance.now() - start) / 1_000)} since the run began`
  const rest = left.length > 0 ? `${left.length} questions left, about ${minutes(more)}` : 'no question left'
  return `== ${question} ${told.join('; ')}. ${run}, ${rest}.`
}

function minutes(seconds: number): string {
  return `${(seconds / 60).toFixed(1)} min`
}
