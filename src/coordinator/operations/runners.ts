import type { EnrolRunnerBody, Runner } from '../../core/contract/runners.js';
import { RUNNERS_MAX, type RunnerRecord, withRunner } from '../../core/engine/evidence.js';
import { isoTime } from '../../core/events/envelope.js';
import { RUNNERS_SUBJECT } from '../../core/subject.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import { isPublicKey } from '../authentication/public-key.js';
import type { Operation } from '../queue/operation.js';
import { sha256Hex } from '../runtime/identity.js';
import { fieldProblem, type Problem, problem } from '../wire/problem.js';
import { runnersOf } from './edge-evidence.js';
import { operationOf, requestKeyOf } from './shared.js';

/** The id of a runner, which derives from its public key. */
export const runnerIdOf = (publicKey: string): string => `rnr_${sha256Hex(publicKey).slice(0, 24)}`;

/** Enrols a runner. Idempotent; a revoked key stays revoked. */
export const enrolRunner = (body: EnrolRunnerBody, caller: Caller): Operation<Runner | Problem> =>
  operationOf(
    'enrol_runner',
    requestKeyOf(caller, 'enrol_runner', body),
    (transaction) => {
      const { public_key, label = null } = body;
      if (!isPublicKey(public_key))
        return fieldProblem('public_key', 'expected an Ed25519 public key: 32 bytes in base64url');
      const { view } = transaction.checkRecord(RUNNERS_SUBJECT);
      const runnerId = runnerIdOf(public_key);
      const runners = runnersOf(view);
      const existing = runners[runnerId];
      if (existing?.state === 'revoked')
        return fieldProblem('public_key', 'this key was revoked. Make another: gen runner enrol.');
      if (existing !== undefined) return runnerOf(runnerId, existing);
      const by = actorOf(caller);
      const added: RunnerRecord = {
        ...{ state: 'enrolled', public_key, label, enrolled_by: by },
        ...{ enrolled_at: isoTime(view.now_ms), revoked_at: null },
      };
      const changed = withRunner(runners, runnerId, added);
      if (changed === null)
        return fieldProblem('public_key', `a project has at most ${RUNNERS_MAX} runners; revoke one first`);
      transaction.writeRecord(RUNNERS_SUBJECT, 'RUNNER_ENROLLED', { runners: changed }, by);
      return runnerOf(runnerId, added);
    },
    body.request_id,
  );

/** Revokes a runner. Idempotent. Its evidence no longer counts, not even evidence from before. */
export const revokeRunner = (runnerId: string, caller: Caller): Operation<Runner | Problem> =>
  operationOf('revoke_runner', null, (transaction) => {
    const { view } = transaction.checkRecord(RUNNERS_SUBJECT);
    const runners = runnersOf(view);
    const existing = runners[runnerId];
    if (existing === undefined)
      return problem('NOT_FOUND', 'There is no runner with that id. List them: gen runner list.');
    if (existing.state === 'revoked') return runnerOf(runnerId, existing);
    const revoked: RunnerRecord = { ...existing, state: 'revoked', revoked_at: isoTime(view.now_ms) };
    const record = { runners: { ...runners, [runnerId]: revoked } };
    transaction.writeRecord(RUNNERS_SUBJECT, 'RUNNER_REVOKED', record, actorOf(caller));
    return runnerOf(runnerId, revoked);
  });

export const runnerOf = (runner_id: string, record: RunnerRecord): Runner => ({ runner_id, ...record });
