/** Who sends a command, as the door found out. The coordinator believes it; the door answers for it. */
export interface Caller {
  /** Requests are remembered per principal: a key, a user, or `open` where nobody has to say. */
  readonly principal: string;
  readonly user_id: string | null;
  readonly client_ip: string | null;
  /** A handle without its claim id is enough. Only where the server is open. */
  readonly claim_id_optional: boolean;
  /** May work: claim, submit, and tell the steps of it. */
  readonly may_work: boolean;
  /** May speak as a human: decide reviews, and claim edges in the role `human`. */
  readonly may_review: boolean;
  /** May administer the tenant: act in the name of any of its users. */
  readonly may_administer: boolean;
  /**
   * Whether the credential is valid at this moment. Asked when a command is decided, which can be long after it came in.
   * Absent: the caller has no credential that can stop being valid.
   */
  readonly isStillAuthorized?: () => boolean;
}

export const isStillAuthorized = ({ isStillAuthorized }: Caller): boolean => isStillAuthorized?.() ?? true;

/** The caller on a loopback address with no keys configured, and the embedder that names nobody. */
export const OPEN_CALLER: Caller = {
  principal: 'open',
  user_id: null,
  client_ip: null,
  claim_id_optional: true,
  may_work: true,
  may_review: true,
  may_administer: true,
};
