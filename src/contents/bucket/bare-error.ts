/** Keys of AWS, signatures of Azure, and tokens of OAuth, as messages of services may repeat them. */
const credential =
  /\b(?:AKIA|ASIA)[A-Z0-9]{8,}|\b(?:sig|Signature|AccountKey)=[^&;\s"]+|\bBearer [\w.~+/-]+|\bya29\.[\w-]+/g

/**
 * What an error of a service is, without what it carries besides: requests with their headers, and answers that repeat
 * keys and signatures.
 */
export function bareError(
  {
    name = 'Error',
    message = '',
  }: { readonly name?: string | undefined; readonly message?: string | undefined },
  facts: readonly unknown[],
): Error {
  const known = facts.filter((fact) => fact !== undefined && fact !== '' && fact !== 0)
  const behind = known.length > 0 ? ` (${known.join(', ')})` : ''
  return new Error(`${name}: ${message.replace(credential, '…')}${behind}`)
}
