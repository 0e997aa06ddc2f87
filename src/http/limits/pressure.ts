import type { FastifyInstance } from 'fastify'
import type { HttpOptions } from '../options.ts'
import { TooMuch } from './admission-control.ts'

/** Tells whether the event loop is later than so many milliseconds, on average over the last second. */
export async function eventLoopWatch(fastify: FastifyInstance, millis: number): Promise<() => boolean> {
  if (millis <= 0) return () => false
  // An application that watches its event loop itself does so for us too.
  if (!fastify.hasDecorator('isUnderPressure')) {
    const { default: underPressure } = await import('@fastify/under-pressure')
    await fastify.register(underPressure, {
      maxEventLoopDelay: millis,
      // The gate refuses, with an error body; the plugin only watches.
      pressureHandler: () => {},
    })
  }
  return () => fastify.isUnderPressure()
}

/** Counts a request of a caller; fails with `Throttling` when it is one too many. */
export type RateLimit = (caller: string) => Promise<void>

type Asking = Parameters<ReturnType<FastifyInstance['createRateLimit']>>[0]

/** Limits the requests of each caller in a time. */
export async function rateLimit(
  fastify: FastifyInstance,
  { requests, perMillis }: NonNullable<HttpOptions['rateLimit']>,
): Promise<RateLimit> {
  if (!fastify.hasDecorator('createRateLimit')) {
    const { default: plugin } = await import('@fastify/rate-limit')
    await fastify.register(plugin, { global: false })
  }
  const count = fastify.createRateLimit({
    max: requests,
    timeWindow: perMillis,
    keyGenerator: (asking) => (asking as unknown as { caller: string }).caller,
  })
  return async (caller) => {
    // It looks at nothing of a request but its route's settings, which ours have none of.
    const counted = await count({ caller, routeOptions: {} } as unknown as Asking)
    if (!counted.isAllowed && counted.isExceeded) {
      throw new TooMuch(
        `More than ${requests} requests came within ${perMillis} milliseconds`,
        counted.ttlInSeconds,
      )
    }
  }
}
