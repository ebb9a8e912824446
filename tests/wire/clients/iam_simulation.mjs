// Judges requests by the policies of a role: `node iam_simulation.mjs`, questions as JSON on stdin, decisions as JSON on stdout.
import { runSimulation } from "@cloud-copilot/iam-simulate";

const decided = [];
let text = "";
for await (const chunk of process.stdin) text += chunk;
for (const { principal, policy, resourcePolicy, action, resource, account, context } of JSON.parse(text)) {
  const answer = await runSimulation(
    {
      request: { principal, action, resource: { resource, accountId: account }, contextVariables: context },
      identityPolicies: policy ? [{ name: "adapters", policy }] : [],
      serviceControlPolicies: [],
      resourceControlPolicies: [],
      ...(resourcePolicy ? { resourcePolicy } : {}),
    },
    {},
  );
  decided.push(answer.resultType === "error" ? { error: answer.errors } : { decision: answer.overallResult });
}
console.log(JSON.stringify(decided));
