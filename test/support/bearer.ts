/** The headers of a request with this token. */
export const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });
