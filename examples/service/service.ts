import Fastify, { type FastifyInstance } from 'fastify'
import type { Catalog } from 'tabularium'
import { catalogPlugin } from 'tabularium/http'

const id = ['measurements']
const idField = { name: 'station', nullable: false, type: { type: 'string' } } as const
const valueField = { name: 'celsius', nullable: true, type: { type: 'double' } } as const

type Measurement = { readonly station: string; readonly celsius: number | null }

const measurement = {
  type: 'object',
  required: ['station', 'celsius'],
  additionalProperties: false,
  properties: {
    station: { type: 'string', maxLength: 100 },
    celsius: { type: 'number', nullable: true },
  },
}

/** A service with routes of its own, and the catalog beside them: its users ask for tables by any client. */
export async function service(catalog: Catalog, token: string): Promise<FastifyInstance> {
  await catalog.createTable({
    id,
    data: [],
    schema: { fields: [idField, valueField] },
    mode: 'ExistOk',
  })
  const app = Fastify()
  await app.register(catalogPlugin, { prefix: '/catalog', catalog, auth: { tokens: [token] } })

  app.post<{ Body: Measurement[] }>(
    '/measurements',
    { schema: { body: { type: 'array', minItems: 1, maxItems: 1_000, items: measurement } } },
    async (request, reply) => {
      const { version } = await catalog.insertIntoTable({ id, data: request.body })
      return reply.code(201).send({ version })
    },
  )

  app.get<{ Querystring: { above: number } }>(
    '/hot',
    {
      schema: {
        querystring: { type: 'object', required: ['above'], properties: { above: { type: 'number' } } },
      },
    },
    // The schema has made a number of it, so no text of a caller gets into the predicate.
    async ({ query }) => catalog.countTableRows({ id, predicate: `celsius > ${query.above}` }),
  )
  return app
}
