// Attacks on circl's tkn20 from within: whoever has a key that does not satisfy a policy computes with it directly, as no function of the
// package would. tests/policies/test_tkn20.py puts this file beside circl's own and runs it.
package tkn

import (
	"crypto/rand"
	"fmt"
	"testing"

	pairing "github.com/cloudflare/circl/ecc/bls12381"
)

const leaves = 9

// Ten attributes in one epoch, all of which it takes: each a label, and 1.
func ten() *Policy {
	policy := &Policy{}
	for number := range leaves + 1 {
		label := fmt.Sprintf("1_a%d_3dyes", number)
		policy.Inputs = append(policy.Inputs, Wire{Label: label, Value: ToScalar(1), Positive: true})
		if number > 0 {
			left := leaves + number - 1
			if number == 1 {
				left = 0
			}
			policy.F.Gates = append(policy.F.Gates, Gate{Andgate, left, number, leaves + number})
		}
	}
	return policy
}

func keyOf(t *testing.T, secret *SecretParams, labels ...string) *AttributesKey {
	t.Helper()
	had := Attributes{}
	for _, label := range labels {
		had[label] = Attribute{Value: ToScalar(1)}
	}
	key, err := DeriveAttributeKeysCCA(rand.Reader, secret, &had)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// What the key gives for a wire, whether or not it satisfies it; for one of which it has nothing, what it has for another label.
func material(key *AttributesKey, wire Wire, instead string) *matrixG1 {
	label := wire.Label
	if key.k3[label] == nil {
		label = instead
	}
	had := newMatrixG1(0, 0)
	had.set(key.k3[label])
	if wild := key.k3wild[label]; wild != nil {
		had.scalarMult(wire.Value, key.k3[label])
		had.add(had, wild)
	}
	return had
}

// Decapsulates by these wires alone, and asks nobody whether they are enough. Each label is there once, so that there is one term.
func directly(header *ciphertextHeader, key *AttributesKey, wires []int, instead string) *pairing.Gt {
	ours := newMatrixG1(key.k3[bkAttribute].rows, key.k3[bkAttribute].cols)
	theirs := newMatrixG1(header.c3[0].rows, header.c3[0].cols)
	for _, wire := range wires {
		ours.add(ours, material(key, header.p.Inputs[wire], instead))
		theirs.add(theirs, header.c3[wire])
	}
	pairs := &pairAccum{}
	pairs.addDuals(ours, header.c2[0], 1)
	pairs.addDuals(theirs, key.k1, -1)
	pairs.addDuals(key.k2.copy(), header.c1, 1)
	return pairs.eval()
}

func TestNoKeyDecapsulatesWhatItDoesNotSatisfy(t *testing.T) {
	public, secret, err := GenerateParams(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := &pairing.Scalar{}
	if err := id.Random(rand.Reader); err != nil {
		t.Fatal(err)
	}
	header, point, err := encapsulate(rand.Reader, public, ten().transformBK(id))
	if err != nil {
		t.Fatal(err)
	}
	labels, all := []string{}, []int{}
	for number, wire := range header.p.Inputs {
		all = append(all, number)
		if number <= leaves {
			labels = append(labels, wire.Label)
		}
	}
	wild := leaves + 1
	if header.p.Inputs[wild].Label != bkAttribute {
		t.Fatal("the wildcard is not where it was looked for")
	}
	// So that it says something when nothing is found below: who satisfies the policy finds it in this way.
	if !directly(header, keyOf(t, secret, labels...), all, "").IsEqual(point) {
		t.Fatal("a key that satisfies the policy does not decapsulate")
	}
	but := func(without int) (some []int) {
		for _, each := range all {
			if each != without {
				some = append(some, each)
			}
		}
		return some
	}
	for number := 0; number <= leaves; number++ {
		other := fmt.Sprintf("1_a%d_3dno", number)
		if number == leaves {
			other = fmt.Sprintf("2_a%d_3dyes", number)
		}
		held := append([]string{other}, labels[:number]...)
		held = append(held, labels[number+1:]...)
		key := keyOf(t, secret, held...)
		ways := map[string][]int{
			"what it has for the wrong one": all, "without the wrong one": but(number), "by the wildcard alone": {wild},
			"without the wildcard": but(wild), "by the wrong one alone": {number}, "by the wrong one and the wildcard": {number, wild},
		}
		for _, each := range all {
			if 0 < number && number < leaves {
				break // all wires for two of them are enough
			}
			ways[fmt.Sprintf("by wire %d alone", each)] = []int{each}
			if each != wild {
				ways[fmt.Sprintf("by wire %d and the wildcard", each)] = []int{each, wild}
			}
		}
		for way, wires := range ways {
			if directly(header, key, wires, other).IsEqual(point) {
				t.Errorf("a key with %s decapsulates %s", other, way)
			}
		}
	}
}

// Two keys, each of which lacks one attribute: what the one has for it, the other cannot use.
func TestTwoKeysTogetherDecapsulateNothing(t *testing.T) {
	public, secret, err := GenerateParams(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	header, point, err := encapsulate(rand.Reader, public, ten().transformBK(ToScalar(7)))
	if err != nil {
		t.Fatal(err)
	}
	labels, all := []string{}, []int{}
	for number, wire := range header.p.Inputs {
		all = append(all, number)
		if number <= leaves {
			labels = append(labels, wire.Label)
		}
	}
	one, other := keyOf(t, secret, labels[:6]...), keyOf(t, secret, labels[5:]...)
	for _, pair := range [][2]*AttributesKey{{one, other}, {other, one}} {
		union := &AttributesKey{k1: pair[0].k1, k2: pair[0].k2, k3: map[string]*matrixG1{}, k3wild: map[string]*matrixG1{}}
		for _, from := range []*AttributesKey{pair[1], pair[0]} {
			for label, had := range from.k3 {
				union.k3[label] = had
			}
			for label, had := range from.k3wild {
				union.k3wild[label] = had
			}
		}
		if directly(header, union, all, "").IsEqual(point) {
			t.Error("two keys decapsulate together")
		}
	}
}
