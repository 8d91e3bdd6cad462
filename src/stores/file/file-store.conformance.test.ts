import { describeFileStore } from './testing/describe-file-store.js';

describeFileStore('file', () => ({}));
// This store closes a segment after every batch, so that reads use segments and snapshots wherever possible.
describeFileStore('file (one segment per batch)', () => ({ segment_bytes_max: 1 }));
