import { expect, it } from 'vitest';
import type { ClaimResult } from '../../core/contract/claim-replies.js';
import { renderClaim } from './tool-content.js';

const BRIEFING_BYTES_MAX = 8 * 1024;
const SUBJECT = 'REQ-F-AUTH-001#design_code';
const CLAIMANT = { agent_id: 'alpha', session_id: 's1' };
const FOLDER = '.ai-workspace/agents/alpha/drafts/REQ-F-AUTH-001+u/design_code';

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** A grant whose briefing is exactly as large as a briefing may be. */
function fullGrant(): ClaimResult {
  const handle = { task_id: SUBJECT, generation: 1, claim_id: 'clm', session_id: 's1' };
  const note = { at: '2026-01-04T06:00:00.000Z', agent_id: 'alpha', generation: 1, text: 'n' };
  const notes = Array.from({ length: 20 }, () => note);
  const briefing = {
    description: '',
    instructions: null,
    dependencies: [],
    notes,
    predecessors: [],
    checks: [],
    handle,
  };
  const description = 'd'.repeat(BRIEFING_BYTES_MAX - bytesOf(briefing));
  const claim = {
    id: 'clm',
    tenant_id: 'default',
    project_id: 'shop',
    task_id: SUBJECT,
    track: null,
    sequence: null,
    ...CLAIMANT,
    generation: 1,
    state: 'ACTIVE' as const,
    claimed_at: note.at,
    lease_duration_seconds: null,
    expires_at: null,
    work_product_ref: null,
    metadata: {},
  };
  const full = { ...briefing, description };
  return { success: true, reason: 'GRANTED', claim, current_holder: null, briefing: full };
}

it('shortens a full briefing to make room for the draft folder', () => {
  const { briefing, handle } = renderClaim(fullGrant(), CLAIMANT, FOLDER) as {
    briefing: { notes: unknown[] };
    handle: object;
  };
  expect(briefing).toHaveProperty('draft_folder', FOLDER);
  // Removing one note would not make enough room for the field and its value.
  expect(briefing.notes).toHaveLength(18);
  expect(bytesOf({ ...briefing, handle })).toBeLessThanOrEqual(BRIEFING_BYTES_MAX);
});

it('leaves a briefing without a draft folder as it is', () => {
  const { briefing, next } = renderClaim(fullGrant(), CLAIMANT, null);
  expect(briefing).toHaveProperty('notes.length', 20);
  expect(briefing).not.toHaveProperty('draft_folder');
  expect(next).not.toContain('drafts');
});
