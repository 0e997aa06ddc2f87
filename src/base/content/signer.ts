/** A request of another program to an object storage service. */
export interface RequestToSign {
  readonly method: string
  /** The whole URL, with the query. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The body, where the signature must hold it: that of a request which removes many objects. */
  readonly body?: string | undefined
}

/** A request that the service takes as one of the catalog's own, for some minutes. */
export interface SignedRequest {
  readonly url: string
  /** All headers that were signed, and the signature. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Signs a request for objects below the folder `prefix`, which ends in a slash. Throws `PermissionDenied` for a request
 * about anything else, and `InvalidInput` for one that it does not know.
 */
export type SignRequest = (prefix: string, request: RequestToSign) => Promise<SignedRequest>
