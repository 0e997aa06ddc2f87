/** The header that puts a request inside of a transaction; its value is the transaction's id. */
export const inTransactionHeader = 'x-tabularium-transaction'

/** The characters of an id of a transaction. No comma: a header that was sent twice has one. */
export const transactionIdPattern = /^[\x21-\x2b\x2d-\x7e]{1,128}$/

export function isTransactionId(text: string): boolean {
  return transactionIdPattern.test(text)
}
