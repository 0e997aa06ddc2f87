import { CatalogError } from '../../../base/errors.ts'
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

/** What the caller of a request may do and see. Undefined where no hook decides that: then it is everything. */
export function accessOf(
  core: OperationContext,
  request: unknown,
  options: OperationOptions,
): Access | undefined {
  const ofServer = options[callerHook]
  if (core.settings.authorize === undefined && ofServer === undefined) return undefined
  return new AskedHooks(async (question) => {
    await askAbout(core, question, request)
    await ofServer?.(question)
  })
}

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
  throw new CatalogError(
    'Unsupported',
    `This server has the hook authorize, and its catalog is on another server, which cannot ask the hook what ${name} leads to. Send the request to that server.`,
  )
}

/** Keeps the answers of hooks for as long as one operation runs. */
class AskedHooks implements Access {
  readonly #ask: CallerHook
  /** The error of the hook that refused, or undefined when all of them allow. */
  readonly #answers = new Map<string, { readonly refusal: unknown }>()

  constructor(ask: CallerHook) {
    this.#ask = ask
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
