import { type PermitShare, UNLIMITED } from './project-cache.js';

/** The shares of one scope: the share of the project that reserves permits, and the shares of the other projects. */
export interface ScopeShares {
  readonly ownShare: PermitShare;
  readonly others: readonly PermitShare[];
}

/**
 * The shares after a project has reserved `wantedCount` spare permits under the limit `max`, or as many as are free. It gets
 * more than it wants, so that it need not reserve for every transaction. Only if the limit has too few permits left does
 * it take the spare permits of the others.
 *
 * Transactions may name different limits for one scope, or none. So each share records in `room_max` how many permits all
 * shares together can hold, and a share is used only under limits that are not smaller. If the shares become larger than
 * that, `room_max` is raised: a project with a smaller limit then reserves again before it takes a permit.
 */
export function allocate(
  { ownShare, others }: ScopeShares,
  { max, wantedCount }: { readonly max: number; readonly wantedCount: number },
): ScopeShares {
  const unshared = max - ownShare.registered - sumOf(others, reservedPermits);
  const unused = max - ownShare.registered - sumOf(others, ({ registered }) => registered);
  const isEnough = unshared >= wantedCount;
  const spare = isEnough ? wantedCount + extraSpare(wantedCount, unshared) : Math.min(wantedCount, unused);
  const othersAfter = isEnough
    ? others
    : others.map((other) => ({ ...other, spare: Math.min(other.spare, 0) }));
  const total = ownShare.registered + Math.max(spare, 0) + sumOf(othersAfter, reservedPermits);
  const room_max = max === UNLIMITED ? total : max;
  return {
    ownShare: { registered: ownShare.registered, spare, room_max },
    others: othersAfter.map((other) => (other.room_max < total ? { ...other, room_max } : other)),
  };
}

/** Half of the permits that are left. Without a limit, as many as wanted, so that a batch needs few reservations. */
const extraSpare = (wantedCount: number, unshared: number): number =>
  unshared === UNLIMITED ? wantedCount : Math.floor((unshared - wantedCount) / 2);

const sumOf = (shares: readonly PermitShare[], part: (share: PermitShare) => number): number =>
  shares.reduce((sum, share) => sum + part(share), 0);

const reservedPermits = ({ registered, spare }: PermitShare): number => registered + Math.max(spare, 0);
