import * as v from 'valibot'
import { answerLifetime } from '../../catalog/formats/index.ts'
import { IcebergError } from '../errors.ts'
import { checkBody } from './body.ts'
import type { Endpoint } from './endpoint.ts'
import { namespaceSeparator } from './names.ts'

const grant = v.object({
  grant_type: v.string(),
  client_secret: v.optional(v.string()),
  subject_token: v.optional(v.string()),
})

const accessToken = 'urn:ietf:params:oauth:token-type:access_token'

/**
 * The endpoints for clients that begin. The token of a caller is its secret, so an exchange checks the secret and answers
 * with it.
 */
export function catalogEndpoints(endpoints: () => readonly Endpoint[]): readonly Endpoint[] {
  return [
    {
      name: 'getConfig',
      method: 'GET',
      path: 'config',
      run: async ({ defaults }) => ({
        body: {
          defaults,
          overrides: { 'namespace-separator': namespaceSeparator },
          'idempotency-key-lifetime': answerLifetime,
          endpoints: endpoints()
            .filter(({ path }) => path.includes('/') || path === 'namespaces')
            .filter(({ path }) => path !== 'oauth/tokens')
            .map(shownEndpoint),
        },
      }),
    },
    {
      name: 'getToken',
      method: 'POST',
      path: 'oauth/tokens',
      body: 'form',
      isPublic: true,
      run: async (_, { request }) => {
        const { grant_type, client_secret, subject_token } = checkBody(grant, request.body)
        const isExchange = grant_type === 'urn:ietf:params:oauth:grant-type:token-exchange'
        if (!isExchange && grant_type !== 'client_credentials')
          throw new IcebergError('UnsupportedOperationException', `Unsupported grant_type: ${grant_type}`)
        const secret = (isExchange ? subject_token : client_secret) ?? secretOf(request.headers.authorization)
        if (secret === undefined)
          throw new IcebergError(
            'NotAuthorizedException',
            'The request has no client_secret. Its value is a token of this server.',
          )
        await request.authenticate(secret)
        return { body: { access_token: secret, token_type: 'bearer', issued_token_type: accessToken } }
      },
    },
  ]
}

/** The secret in an `Authorization: Basic` header. */
function secretOf(authorization: string | undefined): string | undefined {
  const encoded = /^basic +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  return text.includes(':') ? text.slice(text.indexOf(':') + 1) : undefined
}

/** An endpoint as `config` lists it. */
function shownEndpoint({ method, path }: Endpoint): string {
  const name = path.includes('/views/') ? '{view}' : '{table}'
  return `${method} /v1/{prefix}/${path.replace('{name}', name)}`
}
