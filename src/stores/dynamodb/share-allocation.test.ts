import { describe, expect, it } from 'vitest';
import { UNLIMITED } from './project-cache.js';
import { allocate } from './share-allocation.js';

const projectShare = (registered: number, spare: number, room_max: number) => ({
  registered,
  spare,
  room_max,
});

describe('allocate', () => {
  it('leaves the other shares alone if enough permits are in no share', () => {
    const others = [projectShare(2, 3, 12)];
    expect(allocate({ ownShare: projectShare(1, 0, 12), others }, { max: 12, wantedCount: 2 })).toEqual({
      ownShare: projectShare(1, 4, 12),
      others,
    });
  });

  it('takes the spare permits of the others if too few are in no share', () => {
    const others = [projectShare(2, 5, 10), projectShare(1, -1, 10)];
    expect(allocate({ ownShare: projectShare(1, 0, 10), others }, { max: 10, wantedCount: 3 })).toEqual({
      ownShare: projectShare(1, 3, 10),
      others: [projectShare(2, 0, 10), projectShare(1, -1, 10)],
    });
  });

  it('raises the total that another share records when all shares together exceed it', () => {
    const others = [projectShare(2, 1, 5), projectShare(1, 0, 8)];
    expect(allocate({ ownShare: projectShare(0, 0, 0), others }, { max: 8, wantedCount: 4 })).toEqual({
      ownShare: projectShare(0, 4, 8),
      others: [projectShare(2, 1, 8), projectShare(1, 0, 8)],
    });
  });

  it('grants what is wanted and as much again without a limit, and records the sum of the shares', () => {
    const others = [projectShare(2, 1, 3), projectShare(1, 0, 30)];
    expect(allocate({ ownShare: projectShare(1, 0, 3), others }, { max: UNLIMITED, wantedCount: 2 })).toEqual(
      {
        ownShare: projectShare(1, 4, 9),
        others: [projectShare(2, 1, 9), projectShare(1, 0, 30)],
      },
    );
  });

  it('never makes the shares larger than the limit', () => {
    const others = [projectShare(9, 0, 12)];
    expect(
      allocate({ ownShare: projectShare(0, 0, 0), others }, { max: 5, wantedCount: 1 }).ownShare.spare,
    ).toBe(-4);
  });
});
