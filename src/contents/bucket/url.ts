import { invalid } from '../../base/errors.ts'

/** The parts of the URL of a content in object storage. */
export interface BucketUrl {
  readonly bucket: string
  /** The begin of all keys: empty, or ending in a slash. */
  readonly prefix: string
  /** The normalized URL without parameters, ending in a slash. Locations of tables begin with it. */
  readonly root: string
  readonly parameters: ReadonlyMap<string, string>
}

/** Reads `scheme://bucket/prefix?name=value`. Refuses anything else, without repeating a credential. */
export function parseBucketUrl(url: string, known: readonly string[]): BucketUrl {
  const [, scheme, rest, query = ''] = /^([a-z][a-z\d+.-]*):\/\/([^?#]*)(?:\?([^#]*))?$/i.exec(url) ?? []
  if (scheme === undefined || rest === undefined) {
    throw invalid('The URL of the content is not one. Write, for example, s3://bucket/prefix.')
  }
  if (rest.split('/')[0]!.includes('@')) {
    throw invalid(
      'The URL of the content holds a user or a password. Leave them out: credentials come from the environment.',
    )
  }
  const [bucket = '', ...names] = rest.replace(/\/+$/, '').split('/').map(decoded)
  if (bucket === '') {
    throw invalid(`The URL of the content names no bucket. Write, for example, ${scheme}://bucket/prefix.`)
  }
  if (names.some((name) => name === '' || name === '.' || name === '..' || name.includes('/'))) {
    throw invalid(
      `The prefix of ${scheme}://${rest} is not a plain path. Write names of folders between slashes.`,
    )
  }
  const parameters = new Map(new URLSearchParams(query))
  for (const name of parameters.keys()) {
    if (known.includes(name)) continue
    const list = known.length === 0 ? 'It takes none.' : `It takes ${known.join(', ')}.`
    throw invalid(
      `The URL of the content has a parameter ${JSON.stringify(name)}, which nobody reads. ${list}`,
    )
  }
  return {
    bucket,
    prefix: names.map((name) => `${name}/`).join(''),
    root: `${scheme.toLowerCase()}://${[bucket, ...names].map(encodeURIComponent).join('/')}/`,
    parameters,
  }
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch (cause) {
    throw invalid(`${JSON.stringify(name)} in the URL of the content is not encoded well. Write % as %25.`, {
      cause,
    })
  }
}

/** Checks the parameter with the URL of a service. */
export function checkedEndpoint(endpoint: string): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw invalid(
      'The parameter endpoint of the content is not the plain URL of a service. Write, for example, endpoint=https://minio.example:9000.',
    )
  }
  return endpoint
}
