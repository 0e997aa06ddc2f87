import type { Readable } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'
import { wallClock } from '../../base/time.ts'
import { encodedKey, type Request, type RequestTemplate, templateOf } from './request-template.ts'

/** The used part of a response. */
export interface DirectAnswer {
  readonly Body: Readable
  readonly ContentLength: number | undefined
  readonly ContentRange: string | undefined
}

const command = 'GetObjectCommand'

/**
 * Reads parts of objects as the client does, without the layers that build each request. For the first twenty requests
 * of a process, these take more processor time than receiving and checking 40 MB. The client's own requests are the
 * template for the URL and the signature. Failed reads go to the client, which knows all errors, when to retry, and
 * whether the clocks differ.
 */
export class DirectReads {
  readonly #client: S3Client
  #template: RequestTemplate | undefined

  /** The client must belong to the caller alone, who adds nothing to its requests. */
  constructor(client: S3Client) {
    this.#client = client
    client.middlewareStack.add(
      (next, context) => async (args) => {
        const answer = await next(args)
        if (context.commandName === command && this.#template === undefined) {
          const { Key } = args.input as { readonly Key: string }
          const schemes = context.endpointV2?.properties?.['authSchemes']
          this.#template = await templateOf(client, args.request as Request, Key, schemes)
        }
        return answer
      },
      { step: 'build', priority: 'low', name: 'tabulariumDirectReads' },
    )
  }

  /** The response for a part of an object; undefined where the client must send the request. */
  async get(key: string, range: string): Promise<DirectAnswer | undefined> {
    const template = this.#template
    if (template === undefined) return undefined
    try {
      const { statusCode, headers, body } = await this.#send(template, key, range)
      if (statusCode === 206 || statusCode === 200) {
        const length = headers['content-length']
        return {
          Body: body,
          ContentLength: length === undefined ? undefined : Number(length),
          ContentRange: headers['content-range'],
        }
      }
      body.destroy()
    } catch {
      // The client gets the same error, and can handle it.
    }
    // Avoids double requests while a service is busy or refuses. The client's next success sets a new template.
    if (this.#template === template) this.#template = undefined
    return undefined
  }

  async #send({ request, base, headers, signer, scope }: RequestTemplate, key: string, range: string) {
    const { requestHandler, systemClockOffset } = this.#client.config
    const path = base + encodedKey(key)
    const unsigned = { ...request, path, headers: { ...headers, range } } as Request
    const signingDate = new Date(wallClock() + systemClockOffset)
    const signed = await signer.sign(unsigned, { ...scope, signingDate })
    const { response } = await requestHandler.handle(signed as Request)
    return response
  }
}
