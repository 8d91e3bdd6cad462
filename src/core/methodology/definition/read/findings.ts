import type { ConfigFault } from '../methodology.js';

const FINDINGS_MAX = 100;

/** Collects faults and warnings about workspace files, up to a limit. */
export class ConfigFindings {
  readonly faults: ConfigFault[] = [];
  readonly warnings: ConfigFault[] = [];

  fault(fault: ConfigFault): void {
    if (this.faults.length < FINDINGS_MAX) this.faults.push(fault);
  }
  warn(warning: ConfigFault): void {
    if (this.warnings.length < FINDINGS_MAX) this.warnings.push(warning);
  }
}
