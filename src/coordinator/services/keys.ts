import { type ApiKey, type CreatedApiKey, keyBody } from '../../core/contract/keys.js';
import type { PageQuery } from '../../core/contract/schema.js';
import { keyIdSchema } from '../../core/ids.js';
import { OPEN_CALLER } from '../authentication/caller.js';
import { KeyRing } from '../authentication/key-ring.js';
import {
  bindKey,
  createKey,
  type KeyScope,
  requireBoundKeys,
  revokeKey,
  unknownKeyProblem,
} from '../operations/keys.js';
import { parseRoleBody } from '../operations/parse-body.js';
import { pageOf } from '../queries/page.js';
import type { Projects } from '../queue/projects.js';
import type { Environment } from '../runtime/environment.js';
import { type AsyncReply, catchStoreErrors, isProblem, type Problem, problem } from '../wire/problem.js';
import { tenantProblem } from '../wire/project-key.js';

/** Manages API keys, of tenants and of the platform's operators. */
export class KeyService {
  constructor(
    private readonly projects: Projects,
    private readonly environment: Environment,
  ) {}

  /** The keys of all tenants and of the platform, for the authenticator. */
  openKeyRing(): Promise<KeyRing> {
    return KeyRing.open(this.projects);
  }

  async create(scope: KeyScope, body: unknown, caller = OPEN_CALLER): AsyncReply<CreatedApiKey> {
    // A credential that is limited to an agent role creates only keys of that role: otherwise it could give itself another.
    const fields = parseRoleBody(keyBody, body, caller);
    if (isProblem(fields)) return fields;
    if (fields.role === 'operator' && !scope.platform) {
      return problem(
        'FORBIDDEN',
        'Only an operator can create a key with role operator. Use the key of an operator.',
      );
    }
    return this.withKeyRing(scope, async ({ project }) =>
      project.store.capabilities.untrusted_files === 'secret'
        ? unusableKeyProblem()
        : project.run(createKey(scope, fields, caller, project.meta, this.environment), caller),
    );
  }

  /** Keys in order of creation. */
  list(scope: KeyScope, query: PageQuery = {}): AsyncReply<{ keys: readonly ApiKey[]; next: string | null }> {
    return this.withKeyRing(scope, async (ring) => {
      await ring.project.refresh();
      const { items, next } = pageOf(ring.list(scope), (key) => key.created_at + key.key_id, query);
      return { keys: items, next };
    });
  }

  async revoke(scope: KeyScope, keyId: string, caller = OPEN_CALLER): AsyncReply<ApiKey> {
    if (!keyIdSchema.safeParse(keyId).success) return unknownKeyProblem();
    return this.withKeyRing(scope, ({ project, isTrusted }) =>
      project.run(revokeKey(scope, keyId, caller, isTrusted), caller),
    );
  }

  /**
   * Binds older keys to this store, then makes unbound keys invalid. Refused for a log that others may have written, because
   * its unbound keys may come from anywhere. Without any key it changes nothing. After an interruption, a repeated call
   * continues.
   */
  bind(caller = OPEN_CALLER): AsyncReply<{ keys: readonly ApiKey[] }> {
    return catchStoreErrors(async () => {
      const ring = await this.openKeyRing();
      const { project } = ring;
      await project.refresh();
      if (project.store.capabilities.untrusted_files !== undefined) return notBindableProblem();
      const keys = ring.legacyUnboundKeys();
      for (const { key_id } of keys) {
        const bindReply = await project.run(bindKey(key_id, caller, project.meta), caller);
        if (isProblem(bindReply)) return bindReply;
      }
      if (!ring.hasAnyKey) return { keys };
      const required = await project.run(requireBoundKeys(caller), caller);
      return isProblem(required) ? required : { keys };
    });
  }

  private async withKeyRing<T>(scope: KeyScope, work: (ring: KeyRing) => AsyncReply<T>): AsyncReply<T> {
    return tenantProblem(scope.tenant_id) ?? catchStoreErrors(async () => work(await this.openKeyRing()));
  }
}

/** Refuses a key that would never be valid: an open server that has any key requires a valid one of every caller. */
const unusableKeyProblem = (): Problem =>
  problem(
    'FORBIDDEN',
    'Git tracks the secret or the key log of this store, so no key is valid here. Run gen verify: it lists the commands that fix this.',
  );

const notBindableProblem = (): Problem =>
  problem(
    'FORBIDDEN',
    'This log is in a repository, so keys that are not yet bound to this store may come from anywhere, and none was bound. Create new keys: gen key create.',
  );
