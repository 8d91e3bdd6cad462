import { describeStoreConformance } from '../conformance.js';
import { ManualClock } from './manual-clock.js';
import { openMemoryStore } from './memory-store.js';

// req: STO-001, STO-007
describeStoreConformance('memory', {
  hasControlledClock: true,
  open: async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    return { store: openMemoryStore({ clock }), clock };
  },
});

describeStoreConformance('memory (system clock)', {
  open: async () => ({ store: openMemoryStore() }),
});
