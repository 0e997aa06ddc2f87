import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'

/** Starts a thread that runs a file of the package, such as `engine/table/scan/worker`. */
export function startWorker(file: string, options: WorkerOptions): Worker {
  const { url } = import.meta
  // In a bundle, the file is below the folder of all chunks, and has their extension.
  if (!url.endsWith('.ts'))
    return new Worker(new URL(`./${file}${url.slice(url.lastIndexOf('.'))}`, url), options)
  // When sources run as they are, as in tests, a thread first registers the loader for TypeScript.
  const tsx = pathToFileURL(createRequire(url).resolve('tsx/package.json'))
  const loader = new URL('dist/esm/api/index.mjs', tsx)
  const source = new URL(`../../${file}.ts`, url)
  const load = (module: URL) => `await import(${JSON.stringify(module.href)})`
  const first = `(${load(loader)}).register(); ${load(source)}`
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(first)}`), options)
}
