import { CatalogError } from '../../base/errors.ts'
import { BoundedQuestion, SharedAnswer, Unanswered } from '../../base/scheduling/shared-answer.ts'
import { type Catalog, readStore } from '../../catalog/handle/handle.ts'
import type { Log } from './context.ts'

/** Times in milliseconds. */
interface Times {
  /** How long the store may take for an answer. */
  readonly answer: number
  /** How long what was found is told to others who ask. */
  readonly kept: number
}

/**
 * Tells whether the store of a catalog answers. Anybody may ask, without credentials, so it costs next to nothing to
 * be asked: those who ask at once share one read, and what it found is told to others for a while.
 */
export class Readiness {
  readonly #catalog: Catalog
  readonly #log: Log
  readonly #times: Times
  readonly #question: BoundedQuestion<unknown>
  readonly #found: SharedAnswer<void>
  #isWell = true
  #isEnding = false

  constructor(catalog: Catalog, log: Log, times: Times = { answer: 2_000, kept: 1_000 }) {
    this.#catalog = catalog
    this.#log = log
    this.#times = times
    this.#question = new BoundedQuestion((signal) => this.#read(signal), times.answer)
    this.#found = new SharedAnswer(() => this.#look(), times.kept)
  }

  /** Lets each check fail from now on, since the server ends. */
  end(): void {
    this.#isEnding = true
  }

  /** Resolves when the store answers. Fails with `ServiceUnavailable` when it does not, or not in time. */
  async check(): Promise<void> {
    if (this.#isEnding) {
      throw new CatalogError(
        'ServiceUnavailable',
        'The server is not ready: it is shutting down. Ask another server.',
      )
    }
    return this.#found.get()
  }

  async #look(): Promise<void> {
    try {
      await this.#question.answer()
      this.#isWell = true
    } catch (cause) {
      // What went wrong may name hosts, which is nobody's affair who has no credentials.
      if (this.#isWell) this.#log.error({ err: cause }, 'the store of the catalog cannot be read')
      this.#isWell = false
      const why =
        cause instanceof Unanswered
          ? `gave no answer within ${this.#times.answer / 1_000} s`
          : 'cannot be read, as the log of the server explains'
      throw new CatalogError(
        'ServiceUnavailable',
        `The server is not ready: the store of its catalog ${why}. Ask another server, or try again in a moment.`,
        { cause },
      )
    }
  }

  async #read(signal: AbortSignal): Promise<unknown> {
    const catalog = this.#catalog
    // One that lies behind another server has no store here.
    return catalog[readStore]?.() ?? catalog.listNamespaces({ id: [], limit: 1 }, { signal })
  }
}
