import { readFile } from 'node:fs/promises';
import { createLocalJWKSet, createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose';
import { type Problem, problem } from '../../coordinator/wire/problem.js';
import { isCanonicalBase64url } from '../../core/base64url.js';
import { agentIdSchema, agentRoleSchema, tenantIdSchema } from '../../core/ids.js';
import { readStrictJson } from '../../core/strict-json.js';
import { isLoopback } from '../loopback.js';
import { type Principal, ROLES, type Role, unauthenticated } from './principal.js';

/** Asymmetric algorithms only: with a shared secret, a verifier of tokens could also issue them. */
const ALGORITHMS = ['EdDSA', 'ES256', 'RS256'];
const CLOCK_SKEW_SECONDS = 5;
const AGENT_ROLE_CLAIM = 'agent_role';

export interface JwtOptions {
  /** The issuer's public keys: a file path or an https URL. */
  readonly jwks: string;
  readonly issuer: string;
  readonly audience: string;
  /** Maximum lifetime, counted from `iat` and from now; longer tokens are refused. */
  readonly max_lifetime_seconds?: number;
  readonly tenant_claim?: string;
  readonly role_claim?: string;
  readonly user_claim?: string;
}

const JWT_DEFAULTS = {
  max_lifetime_seconds: 900,
  tenant_claim: 'tenant_id',
  role_claim: 'role',
  user_claim: 'sub',
} as const;

export type VerifyToken = (token: string) => Promise<Principal | Problem>;

/**
 * Throws if the file of the key set cannot be read, or its URL is not secure: a server that cannot authenticate clients
 * should not start. A key set at a URL is fetched when the first token arrives.
 */
export async function openTokenVerifier(options: JwtOptions, now = Date.now): Promise<VerifyToken> {
  const keys = await openKeySet(options.jwks);
  const resolvedOptions: Required<JwtOptions> = { ...JWT_DEFAULTS, ...options };
  const checks = {
    algorithms: ALGORITHMS,
    issuer: resolvedOptions.issuer,
    audience: resolvedOptions.audience,
    requiredClaims: ['exp', 'iat'],
    clockTolerance: CLOCK_SKEW_SECONDS,
  };
  return async (token) => {
    if (!token.split('.').every(isCanonicalBase64url)) {
      return unauthenticated('The token is not valid: its parts are not canonical base64url.');
    }
    for (const part of token.split('.', 2)) {
      const parsed = readStrictJson(Buffer.from(part, 'base64url').toString());
      if ('fault' in parsed) return unauthenticated(`The token is not valid: ${parsed.fault}.`);
    }
    try {
      const nowMs = now();
      const { payload } = await jwtVerify(token, keys, { ...checks, currentDate: new Date(nowMs) });
      const fault = lifetimeFault(payload, Math.floor(nowMs / 1000), resolvedOptions.max_lifetime_seconds);
      return fault === null ? principalOf(payload, resolvedOptions) : unauthenticated(fault);
    } catch (error) {
      return problemOf(error);
    }
  };
}

async function openKeySet(jwks: string) {
  if (!/^https?:\/\//.test(jwks)) return createLocalJWKSet(JSON.parse(await readFile(jwks, 'utf8')));
  const url = new URL(jwks);
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new Error(`The key set at ${url.origin} must be fetched over https. Use an https URL.`);
  }
  return createRemoteJWKSet(url);
}

/**
 * Checks the lifetime from `iat` and from now, because an `iat` in the
 * future would make any `exp` look near. Null if it is within the limit.
 */
function lifetimeFault(
  { iat = 0, exp = 0 }: JWTPayload,
  nowSeconds: number,
  maxSeconds: number,
): string | null {
  if (iat > nowSeconds + CLOCK_SKEW_SECONDS) {
    return `The token is issued in the future (iat ${iat}, now ${nowSeconds}). Check the clock of its issuer.`;
  }
  if (exp - iat <= maxSeconds && exp - nowSeconds <= maxSeconds + CLOCK_SKEW_SECONDS) return null;
  return `The token's lifetime exceeds ${maxSeconds} seconds. Issue it with an earlier exp, or raise max_lifetime_seconds.`;
}

function principalOf(payload: JWTPayload, settings: Required<JwtOptions>): Principal | Problem {
  const { tenant_claim, role_claim, user_claim } = settings;
  const role = payload[role_claim];
  if (!ROLES.includes(role as Role)) {
    return unauthenticated(
      `The token has no valid role in ${role_claim}. Issue it with one of: ${ROLES.join(', ')}.`,
    );
  }
  const user_id = escapeUserId(payload[user_claim]);
  if (user_id === null) {
    return unauthenticated(`The token has no valid user in ${user_claim}. Issue it with that claim.`);
  }
  const tenantId = payload[tenant_claim] ?? null;
  const isPlatform = tenantId === null && role === 'operator';
  if (!isPlatform && !tenantIdSchema.safeParse(tenantId).success) {
    return unauthenticated(`The token has no valid tenant in ${tenant_claim}. Issue it with that claim.`);
  }
  // Only an absent claim means any role: a malformed one must not widen what the token grants.
  const agentRole = payload[AGENT_ROLE_CLAIM];
  const parsedRole = agentRoleSchema.optional().safeParse(agentRole);
  if (!parsedRole.success) {
    return unauthenticated(
      `The token has no valid agent role in ${AGENT_ROLE_CLAIM}: ${parsedRole.error.issues[0]?.message}. Issue it with a valid one, or without ${AGENT_ROLE_CLAIM}.`,
    );
  }
  return {
    // The same user name in two tenants is two principals, each with its own requests and rate limit.
    id: `jwt/${(tenantId as string | null) ?? ''}/${user_id}`,
    kind: 'jwt',
    tenant_id: tenantId as string | null,
    role: role as Role,
    name: user_id,
    user_id,
    agent_role: parsedRole.data ?? null,
    expires_at_ms: ((payload.exp ?? 0) + CLOCK_SKEW_SECONDS) * 1000,
  };
}

/** Encodes a user name as an id: characters that ids cannot have (`auth0|7`) become `~` and their code. */
function escapeUserId(user: unknown): string | null {
  if (typeof user !== 'string') return null;
  const name = user.replace(
    /[^A-Za-z0-9._@+-]/g,
    (char) => `~${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  // Leaves space for the principal's prefix.
  return name.length <= 120 && agentIdSchema.safeParse(name).success ? name : null;
}

function problemOf(error: unknown): Problem {
  const joseError = error instanceof errors.JOSEError ? error : null;
  if (
    joseError === null ||
    joseError instanceof errors.JWKSTimeout ||
    joseError.code === 'ERR_JOSE_GENERIC'
  ) {
    return problem('UNAVAILABLE', 'The key set of the issuer cannot be fetched. Try again.');
  }
  return unauthenticated(`The token is not valid: ${joseError.message}.`);
}
