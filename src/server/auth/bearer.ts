/** The token of an `Authorization: Bearer` header; undefined if there is none. */
export const bearerToken = (authorization: string): string | undefined =>
  /^Bearer +([\x21-\x7e]+)$/i.exec(authorization)?.[1];
