import { wire } from '../../../http/protocol/wire.ts'
import type { OperationName } from '../../../operations/index.ts'
import { type Case, rule, type Topic } from '../suite.ts'
import { type HttpTrial, problem } from './trial.ts'

/** One case for each lacking operation: its route exists, and answers 406. */
export function lackingRoutes(
  lacks: ReadonlySet<OperationName>,
  left: readonly Case<HttpTrial>[],
): Topic<HttpTrial> {
  return { name: 'routes of what is lacking', cases: [...lacks].map((name) => refusal(name, left)) }
}

function refusal(name: OperationName, left: readonly Case<HttpTrial>[]): Case<HttpTrial> {
  const { methods, path, body } = wire[name]
  const unjudged = left.filter(({ needs }) => needs.includes(name)).map(({ id }) => id)
  const told = unjudged.length > 0 ? ` Not judged without it: ${unjudged.join(', ')}.` : ''
  return rule(
    `http.lacking.${name}`,
    'document 7, status 406',
    `${methods[0]} ${path} is 406, an unsupported operation.${told}`,
    [],
    async ({ ask, home }) => {
      const bare = /\/transaction\//.test(path) ? 'none' : `${home}$t`
      const address = path.replace('{id}', bare).replace(/\{\w+\}/, 'a')
      const asking = body === 'json' && methods[0] === 'POST' ? { body: {} } : {}
      problem(await ask(methods[0], address, asking), 406, 'Unsupported')
    },
  )
}
