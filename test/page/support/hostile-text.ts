/** Markup, marks that reverse the direction of the text, and a word almost as long as a description may be. */
export const HOSTILE_DESCRIPTION = `<script>document.title='taken over'</script><img src=x onerror=alert(1)>\u202e drawkcab \u2066${'x'.repeat(1900)}`;
/** About 12 KB of the same text. */
export const HOSTILE_INSTRUCTIONS = HOSTILE_DESCRIPTION.repeat(6);
