import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'

/** Starts a thread that runs a file of the package, such as `engine/table/scan/worker`. */
export function startWorker(file: string, options: WorkerOptions): Worker {
  const { module, loader } = startOf(file)
  if (loader === undefined) return new Worker(module, options)
  const load = (url: URL) => `await import(${JSON.stringify(url.href)})`
  const first = `(${load(new URL('api/index.mjs', loader))}).register(); ${load(module)}`
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(first)}`), options)
}

/** The arguments of Node for a process that runs a file of the package. */
export function processArguments(file: string): string[] {
  const { module, loader } = startOf(file)
  const path = fileURLToPath(module)
  return loader === undefined ? [path] : ['--import', loader.href, path]
}

function startOf(file: string): { readonly module: URL; readonly loader?: URL } {
  const { url } = import.meta
  // In a bundle, the file is below the folder of all chunks, and has their extension.
  if (!url.endsWith('.ts')) return { module: new URL(`./${file}${url.slice(url.lastIndexOf('.'))}`, url) }
  // When sources run as they are, as in tests, a thread or a process first registers the loader for TypeScript.
  const tsx = pathToFileURL(createRequire(url).resolve('tsx/package.json'))
  return { module: new URL(`../../${file}.ts`, url), loader: new URL('dist/esm/index.mjs', tsx) }
}
