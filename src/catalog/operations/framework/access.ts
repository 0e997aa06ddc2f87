import { CatalogError, unsupported } from '../../../base/errors.ts'
import {
  type Access,
  AccessUndecided,
  type CallerHook,
  type Named,
  type Question,
} from '../../lookup/access.ts'
import { askAbout } from './authorize.ts'
import {
  type AnyOperation,
  callerHook,
  type OperationContext,
  type OperationOptions,
  type RawRequest,
} from './operation.ts'
import { subjectsInBody } from './subjects.ts'

/** Operations about any transactions. The caller who began one may end it without these. */
const aboutAll: ReadonlySet<string> = new Set(['describeTransaction', 'alterTransaction', 'listTransactions'])

/**
 * Refuses a request whose further subjects only its catalog can find, if hooks have to be asked about them, and the
 * catalog is on another server, which cannot ask them.
 */
export function checkCallerHook(
  operation: AnyOperation,
  request: RawRequest,
  options: OperationOptions,
): void {
  if (options[callerHook] === undefined) return
  const { name } = operation
  const leadsOn =
    aboutAll.has(name) ||
    subjectsInBody(operation, request).some(({ location }) => location !== undefined) ||
    operation.location?.(request) !== undefined
  if (!leadsOn) return
  throw unsupported(
    `This server has the hook authorize, and its catalog is on another server, which cannot ask the hook what ${name} leads to.`,
    'Send the request to that server.',
  )
}

/** What the caller of a request may do and see. Keeps the answers of hooks for as long as one operation runs. */
export class AskedHooks implements Access {
  readonly #core: OperationContext
  readonly #request: unknown
  readonly #ofServer: CallerHook | undefined
  /** The error of the hook that refused, or undefined when all of them allow. */
  readonly #answers = new Map<string, { readonly refusal: unknown }>()

  constructor(core: OperationContext, request: unknown, ofServer: CallerHook | undefined) {
    this.#core = core
    this.#request = request
    this.#ofServer = ofServer
  }

  require(questions: readonly Question[]): void {
    const refused = this.#answersTo(questions).find(({ refusal }) => refusal !== undefined)
    if (refused !== undefined) throw refused.refusal
  }

  mayRead(subjects: readonly Named[]): boolean[] {
    return this.#answersTo(subjects.map(reading)).map(({ refusal }) => refusal === undefined)
  }

  async decide(questions: readonly Question[]): Promise<void> {
    for (const question of questions) {
      const key = keyOf(question)
      if (this.#answers.has(key)) continue
      const refusal = await this.#ask(question).then(
        () => undefined,
        (error: unknown) => error ?? new CatalogError('PermissionDenied', 'A hook refused this.'),
      )
      this.#answers.set(key, { refusal })
    }
  }

  async #ask(question: Question): Promise<void> {
    await askAbout(this.#core, question, this.#request)
    await this.#ofServer?.(question)
  }

  #answersTo(questions: readonly Question[]) {
    const answers = questions.map((question) => this.#answers.get(keyOf(question)))
    const open = questions.filter((_, index) => answers[index] === undefined)
    if (open.length > 0) throw new AccessUndecided(open)
    return answers as { readonly refusal: unknown }[]
  }
}

/** A caller who may describe a subject may see it. */
function reading({ kind, id }: Named): Question {
  return { operation: kind === 'table' ? 'describeTable' : 'describeNamespace', id, changes: false }
}

function keyOf({ operation, id, location }: Question): string {
  return JSON.stringify([operation, location, ...id])
}
