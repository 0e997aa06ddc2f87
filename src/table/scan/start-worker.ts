import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'

/** Starts the thread that `worker.ts` is the beginning of. */
export function startWorker(options: WorkerOptions): Worker {
  const { url } = import.meta
  if (!url.endsWith('.ts')) return new Worker(new URL('./table/scan/worker.js', url), options)
  // From sources, as in tests, a thread has to learn first how to read them.
  const tsx = pathToFileURL(createRequire(url).resolve('tsx/package.json'))
  const loader = new URL('dist/esm/api/index.mjs', tsx)
  const first = `import { register } from '${loader}'; register(); await import('${new URL('./worker.ts', url)}')`
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(first)}`), options)
}
