import { type Figure, isMet, type Target, targetText } from '../figures.ts'
import type { Spread } from '../measure.ts'
import type { Report } from './report.ts'

/** One target and what came of it. */
export interface Verdict {
  readonly question: string
  readonly what: string
  readonly target: string
  readonly measured: Spread
  readonly unit: string
  readonly met: boolean
  /** How many figures share the target, and how many of them reach it. */
  readonly of?: { readonly all: number; readonly met: number }
}

/** All targets of a report. Figures that share one are told of together, by the one that does worst. */
export function verdicts(report: Report): Verdict[] {
  const single: Verdict[] = []
  const groups = new Map<string, Verdict[]>()
  for (const { question, figures } of report.answers) {
    for (const { target, ...verdict } of figures.flatMap(targetsOf)) {
      const judged = {
        question,
        ...verdict,
        target: targetText(target),
        met: isMet(verdict.measured.median, target),
      }
      if (target.group === undefined) single.push(judged)
      else groups.set(target.group, [...(groups.get(target.group) ?? []), judged])
    }
  }
  for (const [group, members] of groups) single.push(together(group, members))
  const order = report.answers.map(({ question }) => question)
  return single.sort((a, b) => order.indexOf(a.question) - order.indexOf(b.question))
}

function targetsOf({ name, unit, ours, target, against }: Figure) {
  const found: { what: string; target: Target; measured: Spread; unit: string }[] = []
  if (target) found.push({ what: name, target, measured: ours, unit })
  for (const { peer, as, ratio, target } of against) {
    if (target) found.push({ what: `${name}: ${as} against ${peer}`, target, measured: ratio, unit: '×' })
  }
  return found
}

function together(group: string, members: readonly Verdict[]): Verdict {
  const upwards = members[0]!.target.startsWith('≥')
  const worst = members.reduce((a, b) => (a.measured.median > b.measured.median === upwards ? b : a))
  const met = members.filter((member) => member.met).length
  return {
    ...worst,
    what: `${group}; the worst: ${worst.what}`,
    met: met === members.length,
    of: { all: members.length, met },
  }
}
