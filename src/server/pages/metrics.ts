import type { Registry } from 'prom-client'
import type { Catalog } from '../../catalog/handle/handle.ts'
import type { AdmissionControl } from '../limits/admission-control.ts'
import { optionalPackage } from '../optional-package.ts'
import { CatalogCollector } from './catalog-metrics.ts'

/** Upper bounds of the duration buckets, in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

interface Tally {
  readonly byStatus: Map<number, number>
  readonly buckets: number[]
  seconds: number
}

/** Counts requests by operation and status, and measures durations, by a few additions. Text is made on demand. */
export class Metrics {
  readonly #tallies = new Map<string, Tally>()
  readonly #admission: AdmissionControl
  readonly #catalog: CatalogCollector
  #registry: Promise<Registry> | undefined

  constructor(admission: AdmissionControl, catalog: Pick<Catalog, 'metrics'>) {
    this.#admission = admission
    this.#catalog = new CatalogCollector(catalog)
  }

  /** Counts one finished request. */
  count(operation: string, status: number, millis: number): void {
    let tally = this.#tallies.get(operation)
    if (tally === undefined) {
      tally = { byStatus: new Map(), buckets: new Array(bounds.length + 1).fill(0), seconds: 0 }
      this.#tallies.set(operation, tally)
    }
    const seconds = millis / 1_000
    tally.byStatus.set(status, (tally.byStatus.get(status) ?? 0) + 1)
    tally.seconds += seconds
    let bucket = 0
    while (bucket < bounds.length && seconds > bounds[bucket]!) bucket++
    tally.buckets[bucket]!++
  }

  /** The metrics in the text format of Prometheus, and its content type. */
  async text(): Promise<{ type: string; text: string }> {
    this.#registry ??= this.#register()
    const registry = await this.#registry
    await this.#catalog.refresh()
    return { type: registry.contentType, text: await registry.metrics() }
  }

  async #register(): Promise<Registry> {
    const { collectDefaultMetrics, Counter, Gauge, Registry } = await optionalPackage(
      '/metrics',
      'prom-client',
      () => import('prom-client'),
    )
    const registers = [new Registry()] as [Registry]
    const metrics = this
    collectDefaultMetrics({ register: registers[0] })
    new Counter({
      name: 'tabularium_requests_total',
      help: 'Requests by operation and HTTP status.',
      labelNames: ['operation', 'status'],
      registers,
      collect() {
        this.reset()
        for (const [operation, { byStatus }] of metrics.#tallies)
          for (const [status, times] of byStatus) this.inc({ operation, status }, times)
      },
    })
    new Gauge({
      name: 'tabularium_requests_in_flight',
      help: 'Requests under way.',
      registers,
      collect() {
        this.set(metrics.#admission.inFlight)
      },
    })
    new Gauge({
      name: 'tabularium_body_bytes',
      help: 'Bytes held for requests: bodies, as they came and decoded, and answers under way.',
      registers,
      collect() {
        this.set(metrics.#admission.memory.used)
      },
    })
    for (const metric of [this.#durations(), ...this.#catalog.metrics])
      registers[0].registerMetric(metric as never)
    return registers[0]
  }

  /** The histogram of the tallies, in the form that the registry expects. */
  #durations() {
    const name = 'tabularium_request_duration_seconds'
    const help = 'How long requests took, by operation.'
    return {
      name,
      get: async () => ({
        name,
        help,
        type: 'histogram',
        aggregator: 'sum',
        values: [...this.#tallies].flatMap(([operation, tally]) => durationValues(name, operation, tally)),
      }),
    }
  }
}

function durationValues(name: string, operation: string, { buckets, seconds }: Tally) {
  let sum = 0
  const counts = buckets.map((times, index) => {
    sum += times
    return { metricName: `${name}_bucket`, labels: { operation, le: bounds[index] ?? '+Inf' }, value: sum }
  })
  return [
    ...counts,
    { metricName: `${name}_sum`, labels: { operation }, value: seconds },
    { metricName: `${name}_count`, labels: { operation }, value: sum },
  ]
}
