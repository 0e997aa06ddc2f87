/**
 * The part of a test runner that the suites need. vitest, jest and `node:test` (`{ describe, test }`) and mocha
 * (`{ describe, it }`) have it.
 */
export interface Runner {
  readonly describe: (name: string, body: () => void) => unknown
  readonly test?: (name: string, body: () => Promise<void>) => unknown
  readonly it?: (name: string, body: () => Promise<void>) => unknown
}

/** A sentence that an implementation has to keep. */
export interface Rule {
  /** Stable, and unique among all suites. */
  readonly id: string
  /** Where it comes from: a section of the service document, a decision of Tabularium, or a contract. */
  readonly source: string
  readonly text: string
}

/** A rule, and what shows whether it is kept. */
export interface Case<Trial> extends Rule {
  /** What an implementation must have for this to be judged. */
  readonly needs: readonly string[]
  readonly run: (trial: Trial) => Promise<void>
}

/** The cases that belong together. */
export interface Topic<Trial> {
  readonly name: string
  readonly cases: readonly Case<Trial>[]
}

type Body<Trial> = (trial: Trial) => Promise<void>

/** Declares a case: `rule('id', 'source', 'text.', ['what it needs'], body)`. */
export function rule<Trial>(
  id: string,
  source: string,
  text: string,
  needs: readonly string[],
  run: Body<Trial>,
): Case<Trial> {
  return { id, source, text, needs, run }
}

/** What a failed case throws: the rule that was broken first, then what was seen. */
export class BrokenRule extends Error {
  override readonly name = 'BrokenRule'
  readonly rule: Rule
  /** Of a comparison that failed, for runners that show the difference. */
  readonly actual: unknown
  readonly expected: unknown

  constructor(rule: Rule, cause: unknown) {
    const seen = cause instanceof Error ? cause.message : String(cause)
    super(`${titleOf(rule)}\n\n${seen}`, { cause })
    this.rule = { id: rule.id, source: rule.source, text: rule.text }
    const { actual, expected } = (cause ?? {}) as { actual?: unknown; expected?: unknown }
    this.actual = actual
    this.expected = expected
  }
}

/** What a case is called in a report. */
function titleOf({ id, source, text }: Rule): string {
  return `${id} (${source}): ${text}`
}

/**
 * Registers cases with a runner. `trial` prepares what a case works on, runs it, and clears up, whatever
 * happened. The bodies handed on take no parameters, since some runners would wait for them to be called.
 */
export function register<Trial>(
  { describe, test, it }: Runner,
  name: string,
  topics: readonly Topic<Trial>[],
  trial: (body: Body<Trial>) => Promise<void>,
): void {
  const add = test ?? it
  if (typeof describe !== 'function' || typeof add !== 'function') {
    throw new TypeError('A suite needs a runner: give it { describe, test } or { describe, it } of yours.')
  }
  describe(name, () => {
    for (const topic of topics) {
      if (topic.cases.length === 0) continue
      describe(topic.name, () => {
        for (const one of topic.cases) add(titleOf(one), () => judge(one, trial))
      })
    }
  })
}

async function judge<Trial>(one: Case<Trial>, trial: (body: Body<Trial>) => Promise<void>): Promise<void> {
  try {
    await trial(one.run)
  } catch (error) {
    throw new BrokenRule(one, error)
  }
}
