/** The authenticated sender of a command. The coordinator trusts it; the server is responsible for its correctness. */
export interface Caller {
  /**
   * Namespace for request ids: the id of a credential, `open` on a server without authentication, the session of an inbox,
   * or the reviewer of a review link.
   */
  readonly principal: string;
  readonly user_id: string | null;
  readonly client_ip: string | null;
  /** The agent role that the credential is limited to; null if it may act in any role. */
  readonly agent_role: string | null;
  /** Whether a handle is accepted without its claim id: on an open server, and for the own session of an inbox. */
  readonly claim_id_optional: boolean;
  /** May claim, submit and append steps. */
  readonly may_work: boolean;
  /** May act as a person: decide reviews, and claim edges in the role `human`. */
  readonly may_review: boolean;
  /** May administer the tenant: act on behalf of any of its users. */
  readonly may_administer: boolean;
  /**
   * Whether the credential is still valid. Checked when a command is decided, which can be long after it arrived.
   * Absent if the caller has no credential that can become invalid.
   */
  readonly isStillAuthorized?: () => boolean;
}

/** The recorded author of a change: the agent that the body names, otherwise the caller's user or principal. */
export const actorOf = (
  { user_id, principal }: Caller,
  { agent_id }: { agent_id?: string | undefined } = {},
): string => agent_id ?? user_id ?? principal;

export const isStillAuthorized = ({ isStillAuthorized }: Caller): boolean => isStillAuthorized?.() ?? true;

/** The caller of a server that listens on a loopback address without any key, and the default for embedders. */
export const OPEN_CALLER: Caller = {
  principal: 'open',
  user_id: null,
  client_ip: null,
  agent_role: null,
  claim_id_optional: true,
  may_work: true,
  may_review: true,
  may_administer: true,
};
