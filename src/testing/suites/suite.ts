/**
 * The functions of a test runner that the suites need: `{ describe, test }` of vitest, jest and `node:test`, or
 * `{ describe, it }` of mocha.
 */
export interface Runner {
  readonly describe: (name: string, body: () => void) => unknown
  readonly test?: (name: string, body: () => Promise<void>) => unknown
  readonly it?: (name: string, body: () => Promise<void>) => unknown
}

/** A rule that implementations must follow. */
export interface Rule {
  /** Stable, and unique among all suites. */
  readonly id: string
  /** The source of the rule: a section of the service document, a decision of Tabularium, or a contract. */
  readonly source: string
  readonly text: string
}

/** A rule, and the test that checks it. */
export interface Case<Trial> extends Rule {
  /** The features that an implementation must have for this case. */
  readonly needs: readonly string[]
  readonly run: (trial: Trial) => Promise<void>
}

/** A group of related cases. */
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

/** The error of a failed case. Its message has the broken rule, then the observation. */
export class BrokenRule extends Error {
  override readonly name = 'BrokenRule'
  readonly rule: Rule
  /** The values of a failed comparison, for runners that show the difference. */
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

/** The name of a case in a report. */
function titleOf({ id, source, text }: Rule): string {
  return `${id} (${source}): ${text}`
}

/**
 * Registers cases with a runner. `trial` prepares a case, runs it, and cleans up, even after a failure. The registered
 * functions take no parameters: some runners treat a parameter as a callback and wait for its call.
 */
export function register<Trial>(
  runner: Runner,
  name: string,
  topics: readonly Topic<Trial>[],
  trial: (body: Body<Trial>) => Promise<void>,
): void {
  const { describe, test, it } = runner ?? {}
  const add = test ?? it
  if (typeof describe !== 'function' || typeof add !== 'function') {
    throw new TypeError(
      'A suite needs a runner: give it { describe, test } or { describe, it } of your test runner.',
    )
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
