import type { Answer } from '../core/answer.ts'
import type { Exchange } from '../core/exchange.ts'
import type { OpenApiDocument } from './openapi.ts'
import type { JsonSchema, OpenApiOperation } from './openapi-schemas.ts'
import { answerOf, compress, readPageFile } from './page-files.ts'

export interface DocsPage {
  answer(file: 'html' | 'script' | 'style', exchange: Exchange): Answer
}

/** Makes the page of the operations and reads its files, once for each server. */
export async function openDocsPage(document: OpenApiDocument, hasPage: boolean): Promise<DocsPage> {
  const [script, style] = await Promise.all([
    compress('text/javascript; charset=utf-8', await readPageFile('docs.js')),
    compress('text/css; charset=utf-8', await readPageFile('docs.css')),
  ])
  const text = docsPage(document, hasPage)
    .replace('page/docs.js', `page/docs.js?${script.hash}`)
    .replace('page/docs.css', `page/docs.css?${style.hash}`)
  const files = { html: await compress('text/html; charset=utf-8', Buffer.from(text)), script, style }
  return { answer: (file, exchange) => answerOf(files[file], exchange) }
}

/**
 * The document as HTML, which needs no script to be read. The page's own script adds the search, the theme and the forms
 * that send requests.
 */
function docsPage(document: OpenApiDocument, hasPage: boolean): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) => {
    const [first, ...others] = Object.keys(methods)
    return [{ path, methods: [first!, ...others], operation: methods[first!]! }]
  })
  const schemas = (document.components as { schemas: Readonly<Record<string, JsonSchema>> }).schemas
  const { title, version, description } = document.info
  const asksForToken = document.security !== undefined
  const settings = escaped(JSON.stringify({ token: asksForToken }))
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="tabularium" content="${settings}">
<title>API · ${escaped(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="page/docs.css">
<script type="module" src="page/docs.js"></script>
</head>
<body>
<div id="app">
<a class="skip" href="#main">Skip to the content</a>
<header>
<span id="browse-button"></span>
${hasPage ? brand('a href="./"', 'a') : brand('span', 'span')}
<span class="badge">${escaped(version)}</span>
<nav aria-label="Pages">${hasPage ? '<a href="./">Catalog</a><a href="./#/activity">Activity</a>' : ''}<a href="docs" aria-current="page">API</a></nav>
<span id="theme"></span>
</header>
<div class="columns">
<div id="scrim" class="scrim" hidden></div>
<aside id="browse" aria-label="Operations">
<div id="search"></div>
<nav class="contents" aria-label="Operations by subject">
${contents(operations)}
</nav>
</aside>
<main id="main" tabindex="-1">
<article>
<p class="eyebrow">${escaped(title)}</p>
<h1>API</h1>
<p>${escaped(description)} The same as a machine reads it: <a href="openapi.json">openapi.json</a>.</p>
<p>${asksForToken ? credentials : open}</p>
${legend}
${operations.map((item) => section(item, schemas)).join('\n')}
</article>
</main>
</div>
<div id="status" role="status" class="unseen"></div>
</div>
</body>
</html>
`
}

function brand(start: string, end: string): string {
  return `<${start} class="brand"><span class="mark" aria-hidden="true"></span>Tabularium</${end}>`
}

/** Links to the operations, by their tags. */
function contents(operations: readonly Item[]): string {
  const tags = [...new Set(operations.flatMap(({ operation }) => operation.tags))]
  return tags
    .map((tag) => {
      const links = operations
        .filter(({ operation }) => operation.tags.includes(tag))
        .map(({ operation: { operationId, summary } }) => {
          const link = `<a href="#${operationId}">${escaped(operationId)}</a>`
          return `<li>${isUnsupported(summary) ? `<s>${link}</s>` : link}</li>`
        })
      return `<h2>${escaped(tag)}</h2>\n<ul>${links.join('')}</ul>`
    })
    .join('\n')
}

const credentials = 'Send credentials as <code>Authorization: Bearer</code>, or as <code>x-api-key</code>.'
const open = 'This server asks for no credentials, and answers its own machine only.'

const reads = '<b class="badge reads">reads</b>'
const changes = '<b class="badge changes">changes</b>'

const legend = `<dl class="legend">
<div><dt><b class="method">GET</b> <b class="method">POST</b></dt><dd>the methods that it takes; they do the same</dd></div>
<div><dt>${reads}</dt><dd>changes nothing</dd></div>
<div><dt>${changes}</dt><dd>changes the catalog, or begins, ends or cancels a transaction</dd></div>
<div><dt><i>required</i></dt><dd>fails without this field; all others may be left out</dd></div>
<div><dt><b class="badge unsupported">not supported</b></dt><dd>part of the protocol, and refused by this server</dd></div>
<div><dt><code>{id}</code></dt><dd>the names from the root down, joined by <code>$</code>; <code>$</code> alone is the root</dd></div>
</dl>`

interface Item {
  readonly path: string
  readonly methods: readonly string[]
  readonly operation: OpenApiOperation
}

function section({ path, methods, operation }: Item, schemas: Readonly<Record<string, JsonSchema>>): string {
  const { operationId, summary, parameters, requestBody, responses } = operation
  const { 200: success, ...failures } = responses
  const kind = isUnsupported(summary)
    ? '<small class="badge unsupported">not supported</small>'
    : operation['x-tabularium-changes']
      ? changes
      : reads
  return `<section id="${operationId}" class="operation">
<h2>${escaped(operationId)} ${kind}</h2>
<p>${escaped(summary)}</p>
<p class="route">${methods.map((method) => `<b class="method">${method.toUpperCase()}</b>`).join(' ')} <code>${escaped(path)}</code></p>
${isUnsupported(summary) ? '' : `<div class="try" data-path="${escaped(path)}"></div>`}
<details>
<summary>Request, response and errors<span class="unseen"> of ${escaped(operationId)}</span></summary>
${table(
  'Parameters',
  parameters.map(({ name, in: where, required, schema, description }) => [
    `<code>${escaped(name)}</code>${required ? ' <i>required</i>' : ''}`,
    escaped(where),
    escaped(typeOf(schema)),
    escaped(description),
  ]),
)}
${requestBody ? `<h3>Request body</h3>${content(requestBody.content, schemas)}` : ''}
<h3>Response</h3>
${content(success!.content, schemas)}
${table(
  'Errors',
  Object.entries(failures).map(([status, failure]) => [status, escaped(failure.description)]),
)}
</details>
</section>`
}

function content(
  types: Readonly<Record<string, { readonly schema: JsonSchema }>>,
  schemas: Readonly<Record<string, JsonSchema>>,
): string {
  return Object.entries(types)
    .map(([type, { schema }]) => {
      const shown = resolve(schema, schemas)
      return `<p><code>${escaped(type)}</code> ${escaped(typeOf(shown))}</p>${fields(shown)}`
    })
    .join('\n')
}

/** Whether an operation is one that the catalog does not support, by the end of its summary. */
function isUnsupported(summary: string): boolean {
  return summary.endsWith(' Not supported.')
}

function resolve(schema: JsonSchema, schemas: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1) : undefined
  return name === undefined ? schema : (schemas[name] ?? schema)
}

/** The properties of an object, and of the objects within it. */
function fields(schema: JsonSchema): string {
  const inner = objectWithin(schema)
  const properties = Object.entries((inner?.properties ?? {}) as Readonly<Record<string, JsonSchema>>)
  if (properties.length === 0) return ''
  const required = new Set((inner?.required ?? []) as readonly string[])
  const items = properties.map(
    ([name, property]) =>
      `<li><code>${escaped(name)}</code> <i>${escaped(typeOf(property))}${required.has(name) ? ', required' : ''}</i>${fields(property)}</li>`,
  )
  return `<ul>${items.join('')}</ul>`
}

function objectWithin(schema: JsonSchema): JsonSchema | undefined {
  if (schema.properties) return schema
  const inner = [schema.items, ...((schema.anyOf ?? []) as readonly unknown[])]
  for (const candidate of inner) {
    const found = typeof candidate === 'object' && candidate !== null && objectWithin(candidate as JsonSchema)
    if (found) return found
  }
  return undefined
}

function typeOf(schema: JsonSchema): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((word) => JSON.stringify(word)).join(' | ')
  if (Array.isArray(schema.anyOf))
    return schema.anyOf.map((option) => typeOf(option as JsonSchema)).join(' or ')
  if (schema.type === 'array') return `list of ${typeOf((schema.items ?? {}) as JsonSchema)}`
  if (schema.additionalProperties && typeof schema.additionalProperties === 'object') {
    return `map of string to ${typeOf(schema.additionalProperties as JsonSchema)}`
  }
  return typeof schema.type === 'string' ? schema.type : 'bytes or any value'
}

function table(title: string, rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const body = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('')
  return `<h3>${title}</h3><table>${body}</table>`
}

function escaped(text: unknown): string {
  return String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
