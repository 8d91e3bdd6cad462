import { defineCommand } from '../command.js';
import { unwrapReply } from '../replies.js';

const NAME_WIDTH = 8;

export const whoamiCommand = defineCommand('whoami', {
  description: 'show the server, and the name, role and tenant of your credential',
  async run(context) {
    const genesis = await context.genesisForTenant();
    const reply = unwrapReply(await genesis.whoami());
    context.printReply({ ...reply, server: genesis.url }, ({ name, role, tenant_id, server }) =>
      [
        ['Name', name ?? 'none: no credential is required'],
        ['Role', role],
        ['Tenant', tenant_id ?? 'all'],
        ['Server', server],
      ].flatMap(([label = '', text = '']) => context.labelled(label, text, NAME_WIDTH)),
    );
  },
});
