import { expect, test } from 'vitest';
import {
  linkExpiryMs,
  linkReviewer,
  parseReviewToken,
  type ReviewLink,
  reviewToken,
  signedLinkText,
} from './review-link.js';

const link: ReviewLink = {
  link_id: 'l1',
  tenant_id: 'acme',
  project_id: 'shop',
  task_id: 'REQ-F-A-001#design_code',
  generation: 2,
  iteration: 3,
  opened_at_ms: 5,
  candidate_sha256: 'a'.repeat(64),
  reviewer: 'rita@example.com',
  expires_at_ms: 1_800_000_000_000,
};
const MAC = 'm'.repeat(43);
const DAY_MS = 86_400_000;

test('a token contains its link and the authentication code', () => {
  expect(parseReviewToken(reviewToken(link, MAC))).toEqual({ link, mac: MAC });
});

test('every field is in the text that is signed', () => {
  for (const [name, value] of Object.entries(link)) {
    const other = { ...link, [name]: typeof value === 'number' ? value + 1 : `${value}b` };
    expect(signedLinkText(other), name).not.toBe(signedLinkText(link));
  }
});

test.each([
  ['an empty text', ''],
  ['a prefix only', 'rvl_'],
  ['a short code', reviewToken(link, 'short')],
  ['no prefix', reviewToken(link, MAC).slice(4)],
  ['padding', `${reviewToken(link, MAC)}=`],
  ['a reviewer with a blank', reviewToken({ ...link, reviewer: 'a b' }, MAC)],
  ['an unknown field', reviewToken({ ...link, more: 1 } as ReviewLink, MAC)],
  ['another spelling', `rvl_${Buffer.from(JSON.stringify(link)).toString('base64url')}.${MAC}`],
  ['a long text', reviewToken({ ...link, task_id: 'x'.repeat(4000) }, MAC)],
])('refuses %s as a token', (_, token) => {
  expect(parseReviewToken(token)).toBeNull();
});

test('a link expires after its days, otherwise at the deadline, and after a year at most', () => {
  expect(linkExpiryMs(0, 2, 5 * DAY_MS)).toBe(2 * DAY_MS);
  expect(linkExpiryMs(0, null, 5 * DAY_MS)).toBe(5 * DAY_MS);
  expect(linkExpiryMs(0, null, null)).toBe(366 * DAY_MS);
  expect(linkExpiryMs(0, 9999, null)).toBe(366 * DAY_MS);
});

test('the reviewer of a link has a name that no credential can have', () => {
  expect(linkReviewer(link)).toBe('link:rita@example.com');
});
