import { z } from 'zod';
import { canonicalJson } from '../canonical-json.js';
import { sha256Schema } from '../contract/schema.js';
import { agentIdSchema, projectIdSchema, tenantIdSchema } from '../ids.js';

/** A link that lets a person decide on one candidate. The link names everything that the decision is bound to. */
const reviewLinkSchema = z.strictObject({
  link_id: z.string().max(64),
  tenant_id: tenantIdSchema,
  project_id: projectIdSchema,
  task_id: z.string().max(300),
  generation: z.int().min(0),
  iteration: z.int().min(0),
  candidate_sha256: sha256Schema,
  /** When the review was opened. A later review of the same candidate needs a new link. */
  opened_at_ms: z.int().min(0),
  /** The person that the link was made for, such as an e-mail address. */
  reviewer: agentIdSchema,
  expires_at_ms: z.int().min(0),
});
export type ReviewLink = Readonly<z.output<typeof reviewLinkSchema>>;

export const LINK_DAYS_MAX = 366;
const DAY_MS = 24 * 3600 * 1000;
export const TOKEN_LENGTH_MAX = 4096;
/** Makes the token recognisable as a secret, for example in a log. */
const TOKEN_PREFIX = 'rvl_';
const TOKEN = /^rvl_([\w-]+)\.([\w-]{43})$/;

/** The text that is signed. Its first line separates it from every other use of the key. */
export const signedLinkText = (link: ReviewLink): string => `genesis-review-link-v1\n${canonicalJson(link)}`;

/** The token of a link. `mac`: the message authentication code of `signedLinkText`, as base64url. */
export const reviewToken = (link: ReviewLink, mac: string): string =>
  `${TOKEN_PREFIX}${Buffer.from(canonicalJson(link)).toString('base64url')}.${mac}`;

/** The content of a token, not authenticated yet; null if the text is not a token. */
export function parseReviewToken(token: string): { readonly link: ReviewLink; readonly mac: string } | null {
  if (token.length > TOKEN_LENGTH_MAX) return null;
  const [, content = '', mac = ''] = TOKEN.exec(token) ?? [];
  const text = Buffer.from(content, 'base64url').toString('utf8');
  const parsed = reviewLinkSchema.safeParse(jsonOrNull(text));
  // One link has one spelling, so that a token can be compared as text.
  return parsed.success && reviewToken(parsed.data, mac) === token ? { link: parsed.data, mac } : null;
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * When a link expires: after the given days, otherwise at the deadline of the review; after `LINK_DAYS_MAX` at most. A link
 * that is valid for longer than its review does no harm, because it cannot decide on anything else.
 */
export function linkExpiryMs(nowMs: number, days: number | null, deadlineMs: number | null): number {
  const latestMs = nowMs + LINK_DAYS_MAX * DAY_MS;
  const requestedMs = days === null ? (deadlineMs ?? latestMs) : nowMs + Math.round(days * DAY_MS);
  return Math.min(requestedMs, latestMs);
}

/** The name under which a decision by link is recorded. No credential has such a name, because names have no colon. */
export const linkReviewer = ({ reviewer }: Pick<ReviewLink, 'reviewer'>): string => `link:${reviewer}`;
